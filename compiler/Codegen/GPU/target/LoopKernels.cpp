//===- LoopKernels.cpp - Kernels that run around rounds -------------------===//

#include "compiler/Codegen/GPU/target/LoopKernels.h"

#include "compiler/Codegen/GPU/GpuBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/schema/DeviceLoop.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr unsigned kGlobalSpace = 1;
/// Function of the driver that its loader resolves.
static constexpr llvm::StringLiteral kSetConditional =
    "cudaGraphSetConditional";

/// Emits a kernel with `buffers` pointers and `params` numbers.
static void emitKernel(OpBuilder &builder, gpu::GPUModuleOp module,
                       StringRef name, int64_t buffers, int64_t params,
                       int64_t threads,
                       llvm::function_ref<void(GpuBuilder &)> emitBody) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = module.getLoc();
  SmallVector<Type> arguments(
      buffers, LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace));
  arguments.append(params, builder.getI64Type());
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(arguments, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(threads), 1, 1});
  builder.setInsertionPointToStart(&kernel.getBody().front());
  builder.setInsertionPoint(gpu::ReturnOp::create(builder, loc));
  GpuLaunch launch;
  launch.threads = threads;
  GpuBuilder kb(builder, loc, kernel, buffers, launch);
  kb.begin();
  emitBody(kb);
}

/// Emits the kernel that delivers records. A block takes every
/// kDeliverBlocks-th record, and a thread takes every n-th word, n being the
/// number of threads.
static void emitDeliver(GpuBuilder &kb) {
  OpBuilder &builder = kb.mlirBuilder();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  Value mailbox = kb.buffer(0);
  Value count = kb.loadI32(mailbox, kb.integer(0));
  kb.forRange(kb.block(), count, kDeliverBlocks, [&](Value index) {
    Value record = kb.at(kb.at(mailbox, kMailboxRecords), index,
                         int64_t(sizeof(MailboxRecord)));
    Value target = LLVM::IntToPtrOp::create(
        builder, kb.location(), pointer,
        kb.loadOwn(kb.i64Type(),
                   kb.at(record, offsetof(MailboxRecord, target))));
    auto word = [&](size_t offset) {
      return kb.loadI32(kb.at(record, int64_t(offset)), kb.integer(0));
    };
    Value from = kb.at(mailbox, word(offsetof(MailboxRecord, offset)), 1);
    kb.forRange(kb.thread(), word(offsetof(MailboxRecord, words)),
                kDeliverThreads, [&](Value place) {
                  Value value = kb.loadOwn(kb.i32Type(), kb.at(from, place, 4));
                  kb.storeOwn(value, kb.at(target, place, 4));
                });
  });
}

/// Returns true if the slots want another round: no slot has a negative number,
/// and at least one has a positive number.
static Value isAgain(GpuBuilder &kb) {
  Value none = kb.constant(kb.i32Type(), 0);
  Value most = none, least = none;
  auto bounds =
      kb.forRange(kb.thread(), kb.param(0), kb.threads(), {most, least},
                  [&](Value slot, ValueRange carried) -> Values {
                    Value own =
                        kb.loadOwn(kb.i32Type(), kb.at(kb.buffer(0), slot, 4));
                    return {kb.max(carried[0], own), kb.min(carried[1], own)};
                  });
  bounds = kb.reduceWarp(bounds, [&](ValueRange a, ValueRange b) -> Values {
    return {kb.max(a[0], b[0]), kb.min(a[1], b[1])};
  });
  Value isWanted = kb.cmp(Cmp::GT, bounds[0], none);
  return kb.bitAnd(isWanted, kb.cmp(Cmp::GE, bounds[1], none));
}

/// Emits the kernel that ends a round. The round's stores to watched states
/// must be visible before the count that the host waits for. So the count is
/// stored by a release at system scope, in the thread that follows all earlier
/// kernels.
static void emitNextRound(GpuBuilder &kb) {
  OpBuilder &builder = kb.mlirBuilder();
  Location loc = kb.location();
  Value again = isAgain(kb);
  kb.ifThen(kb.cmp(Cmp::EQ, kb.thread(), 0), [&] {
    auto access = [&](size_t offset) {
      return kb.at(kb.buffer(1), int64_t(offset));
    };
    Value stop = LLVM::LoadOp::create(
        builder, loc, kb.i32Type(), access(offsetof(LoopControl, stop)),
        /*alignment=*/4, /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariant=*/false, /*isInvariantGroup=*/false,
        LLVM::AtomicOrdering::monotonic);
    Value none = kb.constant(kb.i32Type(), 0);
    Value goesOn = kb.bitAnd(again, kb.cmp(Cmp::EQ, stop, none));
    Value rounds = access(offsetof(LoopControl, rounds));
    Value before = kb.loadOwn(kb.i32Type(), rounds);
    LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel,
                          /*syncscope=*/StringRef());
    LLVM::StoreOp::create(
        builder, loc, kb.add(before, kb.constant(kb.i32Type(), 1)), rounds,
        /*alignment=*/4, /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
    Value value = kb.extendUnsigned(goesOn, kb.i32Type());
    LLVM::CallOp::create(builder, loc, TypeRange(), kSetConditional,
                         ValueRange{kb.param(1), value});
  });
}

void codegen::emitLoopKernels(OpBuilder &builder, gpu::GPUModuleOp module) {
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto nothing = LLVM::LLVMVoidType::get(builder.getContext());
    LLVM::LLVMFuncOp::create(
        builder, module.getLoc(), kSetConditional,
        LLVM::LLVMFunctionType::get(
            nothing, {builder.getI64Type(), builder.getI32Type()}));
  }
  emitKernel(builder, module, kDeliverKernel, /*buffers=*/1, /*params=*/0,
             kDeliverThreads, emitDeliver);
  emitKernel(builder, module, kNextRoundKernel, /*buffers=*/2, /*params=*/2,
             kNextRoundThreads, emitNextRound);
}
