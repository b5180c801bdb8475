//===- Control.cpp - Kernels that carry their body ------------------------===//

#include "compiler/Codegen/CPU/builder/KernelTable.h"
#include "compiler/Codegen/CPU/control/LaneLoops.h"
#include "compiler/Codegen/ControlBody.h"
#include "dialects/Exec/IR/ControlKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

LogicalResult codegen::emitControl(OpBuilder &builder, CpuBuilder &kb,
                                   Region &body) {
  Location loc = body.getLoc();
  IRMapping map;
  Value tasks = kb.param(0);
  for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front()))
    map.map(argument, asBuffer(builder, loc, kb.buffer(i),
                               cast<MemRefType>(argument.getType()), tasks));
  // The buffers of a body are allocated once, not once for each task.
  for (auto alloca : body.getOps<memref::AllocaOp>())
    builder.clone(*alloca, map);
  kb.forTasks([&](Value task) {
    map.map(body.getArgument(0), arith::IndexCastOp::create(
                                     builder, loc, builder.getIndexType(), task)
                                     .getResult());
    for (Operation &op : body.front())
      if (!isa<memref::AllocaOp>(op))
        builder.clone(op, map);
  });
  SmallVector<scf::ForOp> loops;
  body.walk([&](scf::ForOp loop) {
    if (exec::laneLoopOf(loop))
      loops.push_back(cast<scf::ForOp>(map.lookup(loop.getOperation())));
  });
  llvm::for_each(loops, vectorizeLaneLoop);
  Operation *function = builder.getInsertionBlock()->getParentOp();
  expandClampTasks(function, tasks);
  return expandMath(function);
}
