//===- HostIntrinsics.cpp - NVVM's intrinsics as calls of the simulator ---===//

#include "test/GpuSim/target/HostLowering.h"

#include "test/GpuSim/target/SimAbi.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/Errc.h"

using namespace mtp::gpu;
using namespace llvm;

static constexpr StringRef kPrefix = "llvm.nvvm.";

/// Returns the simulator's name of `callee`, or an empty name if it has none.
static std::string simulatorName(StringRef callee) {
  std::string name = callee.str();
  if (callee.consume_front(kPrefix))
    name = callee.str();
  llvm::replace(name, '.', '_');
  static constexpr StringRef known[] = {
#define MTP_NAME(name) #name,
      MTP_SIM_CALLS(MTP_NAME)
#undef MTP_NAME
  };
  return is_contained(known, name) ? name : std::string();
}

static Error unknownCall(const Function &caller, const Twine &what) {
  return createStringError(errc::not_supported,
                           "expected only calls that gpu-sim knows in '" +
                               caller.getName() + "', got " + what);
}

/// Packs the arguments into a struct on the stack, calls `name`, and loads the
/// result. The allocas are in the entry block, so that a loop does not grow the
/// stack.
static void lowerCall(CallInst &call, StringRef name, HostImports &imports) {
  IRBuilder<> entry(
      &*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  IRBuilder<> builder(&call);
  SmallVector<Type *> types;
  for (Value *argument : call.args())
    types.push_back(argument->getType());
  Value *none = ConstantPointerNull::get(builder.getPtrTy());
  Value *arguments = none, *result = none;
  if (!types.empty()) {
    auto *type = StructType::get(call.getContext(), types);
    arguments = entry.CreateAlloca(type);
    for (auto [index, argument] : enumerate(call.args()))
      builder.CreateStore(argument,
                          builder.CreateStructGEP(type, arguments, index));
  }
  if (!call.getType()->isVoidTy())
    result = entry.CreateAlloca(call.getType());
  auto *type = FunctionType::get(builder.getVoidTy(),
                                 {builder.getPtrTy(), builder.getPtrTy()},
                                 /*isVarArg=*/false);
  imports.call(builder, name, type, {result, arguments});
  if (!call.getType()->isVoidTy())
    call.replaceAllUsesWith(builder.CreateLoad(call.getType(), result));
  call.eraseFromParent();
}

Error mtp::gpu::lowerIntrinsics(Module &module, HostImports &imports) {
  SmallVector<std::pair<CallInst *, std::string>> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      if (!call)
        continue;
      if (call->isInlineAsm())
        return unknownCall(function, "PTX as text");
      Function *callee = call->getCalledFunction();
      // A call of a slot of the simulator, made by an earlier step.
      if (!callee || !callee->isDeclaration())
        continue;
      bool isNvvm = callee->getName().starts_with(kPrefix);
      if (callee->isIntrinsic() && !isNvvm)
        continue;
      std::string name = simulatorName(callee->getName());
      if (name.empty())
        return unknownCall(function, "'" + callee->getName() + "'");
      found.push_back({call, name});
    }
  for (auto &[call, name] : found)
    lowerCall(*call, name, imports);
  return Error::success();
}

/// Returns the bits of the nearest bf16, ties to even, of f32 values, as
/// `cvt.rn.bf16.f32` does. A NaN becomes the one NaN that the hardware makes.
static Value *roundToBf16(IRBuilderBase &builder, Value *value) {
  auto withType = [&](Type *type) -> Type * {
    if (auto *vector = dyn_cast<VectorType>(value->getType()))
      return VectorType::get(type, vector->getElementCount());
    return type;
  };
  Type *wide = withType(builder.getInt32Ty());
  Type *narrow = withType(builder.getInt16Ty());
  Value *bits = builder.CreateBitCast(value, wide);
  Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value *bias = builder.CreateAdd(odd, ConstantInt::get(wide, 0x7fff));
  Value *rounded = builder.CreateLShr(builder.CreateAdd(bits, bias), 16);
  rounded = builder.CreateSelect(builder.CreateFCmpUNO(value, value),
                                 ConstantInt::get(wide, 0x7fff), rounded);
  return builder.CreateTrunc(rounded, narrow);
}

void mtp::gpu::expandBf16Rounding(Module &module) {
  SmallVector<FPTruncInst *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *trunc = dyn_cast<FPTruncInst>(&instruction))
        if (trunc->getType()->getScalarType()->isBFloatTy() &&
            trunc->getSrcTy()->getScalarType()->isFloatTy())
          found.push_back(trunc);
  for (FPTruncInst *trunc : found) {
    IRBuilder<> builder(trunc);
    Value *bits = roundToBf16(builder, trunc->getOperand(0));
    // Users of the bits get them directly. A processor without bf16 would treat
    // the elements of a vector as numbers, and convert them.
    for (User *user : make_early_inc_range(trunc->users()))
      if (auto *cast = dyn_cast<BitCastInst>(user)) {
        IRBuilder<> atCast(cast);
        cast->replaceAllUsesWith(atCast.CreateBitCast(bits, cast->getType()));
        cast->eraseFromParent();
      }
    trunc->replaceAllUsesWith(builder.CreateBitCast(bits, trunc->getType()));
    trunc->eraseFromParent();
  }
}
