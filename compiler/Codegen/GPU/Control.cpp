//===- Control.cpp - Kernels that carry their body ------------------------===//
//
// A task is a slot's control: integer work of one thread. A warp has a task for
// each of its threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/ControlBody.h"
#include "compiler/Codegen/GPU/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// The intrinsic of LLVM for an operation of arith or math; empty where there
/// is none.
static StringRef intrinsicOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
      .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Case([](math::TruncOp) { return "llvm.trunc"; })
      .Default(StringRef());
}

/// LLVM's intrinsics in place of math's operations, which would become calls
/// of a library. By name: the lowering to NVVM takes LLVM's own operations for
/// math's.
static void replaceMath(Operation *function) {
  function->walk([](Operation *op) {
    StringRef name = intrinsicOf(op);
    if (name.empty())
      return;
    OpBuilder builder(op);
    auto call = LLVM::CallIntrinsicOp::create(
        builder, op->getLoc(), op->getResult(0).getType(),
        builder.getStringAttr(name), op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  });
}

LogicalResult codegen::emitGpuControl(GpuBuilder &kb, Region &body) {
  OpBuilder &builder = kb.mlirBuilder();
  Location loc = body.getLoc();
  // A body's buffers may be in any memory: those of its own are a thread's.
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  IRMapping map;
  for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front())) {
    Value pointer =
        LLVM::AddrSpaceCastOp::create(builder, loc, generic, kb.buffer(i));
    map.map(argument,
            asBuffer(builder, loc, pointer,
                     cast<MemRefType>(argument.getType()), kb.param(0)));
  }
  for (auto alloca : body.getOps<memref::AllocaOp>())
    builder.clone(*alloca, map);
  Value task = kb.add(kb.mul(kb.block(), kb.threads()), kb.thread());
  kb.ifThen(kb.cmp(Cmp::LT, task, kb.param(0)), [&] {
    map.map(body.getArgument(0), arith::IndexCastOp::create(
                                     builder, loc, builder.getIndexType(), task)
                                     .getResult());
    for (Operation &op : body.front())
      if (!isa<memref::AllocaOp>(op))
        builder.clone(op, map);
  });
  Operation *function = builder.getInsertionBlock()->getParentOp();
  if (failed(expandMath(function)))
    return failure();
  replaceMath(function);
  return success();
}
