//===- HostShared.cpp - Shared memory in the simulator --------------------===//

#include "test/GpuSim/target/HostLowering.h"

#include "test/GpuSim/target/SimAbi.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/Errc.h"

using namespace mtp::gpu;
using namespace llvm;

static constexpr unsigned kSharedSpace = 3;
/// Alignment of dynamic shared memory: the largest one that kernels rely on.
static constexpr uint64_t kDynamicAlign = 128;

namespace {
/// Uses of one variable in one kernel.
struct KernelUses {
  GlobalVariable *variable;
  SmallVector<Use *> uses;
};
} // namespace

using UsesOfKernels = MapVector<Function *, SmallVector<KernelUses>>;

static Expected<UsesOfKernels> collectUses(ArrayRef<GlobalVariable *> shared) {
  UsesOfKernels result;
  for (GlobalVariable *variable : shared) {
    MapVector<Function *, SmallVector<Use *>> uses;
    for (Use &use : variable->uses()) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      if (!user)
        return createStringError(errc::invalid_argument,
                                 "expected shared variable '" +
                                     variable->getName() +
                                     "' in code alone, got it in another "
                                     "variable's value");
      Function *function = user->getFunction();
      if (function->getCallingConv() != CallingConv::PTX_Kernel)
        return createStringError(
            errc::invalid_argument,
            "expected shared variable '" + variable->getName() +
                "' in kernels alone, got it in function '" +
                function->getName() + "'");
      uses[function].push_back(&use);
    }
    for (auto &[function, list] : uses)
      result[function].push_back({variable, list});
  }
  return result;
}

/// Lays out the variables that one kernel uses, and replaces the uses.
static SharedLayout lowerKernel(Function &kernel,
                                ArrayRef<KernelUses> variables,
                                HostImports &imports) {
  const DataLayout &layout = kernel.getDataLayout();
  IRBuilder<> builder(&*kernel.getEntryBlock().getFirstInsertionPt());
  Value *base = imports.call(
      builder, mtp::gpusim::kSharedBase,
      FunctionType::get(builder.getPtrTy(), /*isVarArg=*/false), {});
  SharedLayout result;
  auto replace = [&](const KernelUses &entry, uint64_t offset) {
    Value *address =
        builder.CreateConstGEP1_64(builder.getInt8Ty(), base, offset);
    address = builder.CreateAddrSpaceCast(address, entry.variable->getType());
    for (Use *use : entry.uses)
      use->set(address);
  };
  for (const KernelUses &entry : variables) {
    if (entry.variable->isDeclaration())
      continue;
    uint64_t offset =
        alignTo(result.staticBytes, entry.variable->getAlign().valueOrOne());
    result.staticBytes =
        offset + layout.getTypeAllocSize(entry.variable->getValueType());
    replace(entry, offset);
  }
  // A variable without a size gets its size at the launch, after all others.
  for (const KernelUses &entry : variables)
    if (entry.variable->isDeclaration()) {
      result.usesDynamic = true;
      result.staticBytes = alignTo(result.staticBytes, kDynamicAlign);
      replace(entry, result.staticBytes);
    }
  return result;
}

Expected<MapVector<Function *, SharedLayout>>
mtp::gpu::lowerSharedMemory(Module &module, HostImports &imports) {
  SmallVector<GlobalVariable *> shared;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == kSharedSpace)
      shared.push_back(&variable);
  SmallVector<Constant *> constants(shared.begin(), shared.end());
  if (!constants.empty())
    convertUsersOfConstantsToInstructions(constants);

  Expected<UsesOfKernels> uses = collectUses(shared);
  if (!uses)
    return uses.takeError();
  MapVector<Function *, SharedLayout> result;
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel &&
        !function.isDeclaration()) {
      auto found = uses->find(&function);
      result[&function] = found == uses->end()
                              ? SharedLayout()
                              : lowerKernel(function, found->second, imports);
    }
  for (GlobalVariable *variable : shared)
    variable->eraseFromParent();
  return result;
}
