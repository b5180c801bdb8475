//===- HostChecks.cpp - Checks of accesses for the simulator --------------===//

#include "test/GpuSim/target/HostLowering.h"

#include "test/GpuSim/target/SimAbi.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace mtp::gpu;
using namespace mtp::gpusim;
using namespace llvm;

namespace {
struct Access {
  Value *pointer;
  Value *bytes;
  uint32_t flags;
  uint64_t align;
};
} // namespace

/// Returns the accesses of an instruction: none, one, or the two of a copy.
static SmallVector<Access, 2> accessesOf(Instruction &instruction) {
  const DataLayout &layout = instruction.getDataLayout();
  Type *i64 = Type::getInt64Ty(instruction.getContext());
  auto sizeOf = [&](Type *type) -> Value * {
    return ConstantInt::get(i64, layout.getTypeStoreSize(type));
  };
  auto atomic = [](bool is) -> uint32_t { return is ? kAtomic : 0; };
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return {{load->getPointerOperand(), sizeOf(load->getType()),
             kRead | atomic(load->isAtomic()), load->getAlign().value()}};
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return {{store->getPointerOperand(),
             sizeOf(store->getValueOperand()->getType()),
             kWrite | atomic(store->isAtomic()), store->getAlign().value()}};
  if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    return {{update->getPointerOperand(), sizeOf(update->getType()),
             kRead | kWrite | kAtomic, update->getAlign().value()}};
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return {{exchange->getPointerOperand(),
             sizeOf(exchange->getNewValOperand()->getType()),
             kRead | kWrite | kAtomic, exchange->getAlign().value()}};
  SmallVector<Access, 2> result;
  if (auto *copy = dyn_cast<MemTransferInst>(&instruction))
    result.push_back({copy->getRawSource(), copy->getLength(), kRead,
                      copy->getSourceAlign().valueOrOne().value()});
  if (auto *fill = dyn_cast<MemIntrinsic>(&instruction))
    result.push_back({fill->getRawDest(), fill->getLength(), kWrite,
                      fill->getDestAlign().valueOrOne().value()});
  return result;
}

/// Returns true if a pointer points to a local variable of the thread, or to a
/// slot that this lowering made.
static bool isOwnMemory(const Value *pointer) {
  if (pointer->getType()->getPointerAddressSpace() != 0)
    return false;
  const Value *object = getUnderlyingObject(pointer);
  return isa<AllocaInst>(object) || isa<GlobalVariable>(object);
}

/// Returns the loads of a block that begin a batch: the first load, and each
/// load that comes after a use of a value of the current batch. A thread waits
/// for memory when it uses a loaded value, so the loads of a batch are in
/// flight together.
static SmallPtrSet<Instruction *, 8> beginBatches(BasicBlock &block) {
  SmallPtrSet<Instruction *, 8> begins;
  SmallPtrSet<Value *, 8> batch;
  bool isOver = true;
  for (Instruction &instruction : block) {
    isOver |= any_of(instruction.operands(), [&](const Use &operand) {
      return batch.contains(operand.get());
    });
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (!load || isOwnMemory(load->getPointerOperand()))
      continue;
    if (isOver) {
      begins.insert(load);
      batch.clear();
      isOver = false;
    }
    batch.insert(load);
  }
  return begins;
}

void mtp::gpu::insertAccessChecks(Module &module, HostImports &imports) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0);
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context),
                                 {pointer, i64, i32, i32}, false);
  SmallVector<std::pair<Instruction *, Access>> found;
  for (Function &function : module)
    for (BasicBlock &block : function) {
      SmallPtrSet<Instruction *, 8> waiting = beginBatches(block);
      for (Instruction &instruction : block)
        for (Access access : accessesOf(instruction)) {
          if (isOwnMemory(access.pointer))
            continue;
          if (waiting.contains(&instruction))
            access.flags |= kWaits;
          found.push_back({&instruction, access});
        }
    }
  for (const auto &[instruction, access] : found) {
    IRBuilder<> builder(instruction);
    unsigned space = access.pointer->getType()->getPointerAddressSpace();
    imports.call(builder, kAccess, type,
                 {builder.CreateAddrSpaceCast(access.pointer, pointer),
                  builder.CreateZExtOrTrunc(access.bytes, i64),
                  builder.getInt32(access.flags | space << kSpaceShift),
                  builder.getInt32(access.align)});
  }
}
