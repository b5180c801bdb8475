//===- CloneCaptures.cpp - What clones read of their old place ------------===//
//
// A region of a round sees all values above it. Who clones its ops elsewhere
// takes these along: every operand is looked at, whatever op has it and however
// deep that stands.
//
//===----------------------------------------------------------------------===//

#include "passes/round/CloneCaptures.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

/// Calls `visit` for each operand at or below `root` that is made in `from`.
static LogicalResult
forCaptures(Operation *root, Block &from,
            llvm::function_ref<LogicalResult(OpOperand &)> visit) {
  WalkResult result = root->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getParentBlock() == &from && failed(visit(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The ops of `from` that `user` wants and `mapping` does not have, those that
/// are read before those that read them.
static FailureOr<SmallVector<Operation *>> findMissing(Operation &user,
                                                       Block &from,
                                                       const IRMapping &mapping,
                                                       MayClone mayClone) {
  llvm::SetVector<Operation *> missing;
  SmallVector<Operation *> pending{&user};
  auto note = [&](OpOperand &operand) -> LogicalResult {
    Operation *made = operand.get().getDefiningOp();
    if (mapping.contains(operand.get()) || missing.contains(made))
      return success();
    if (failed(mayClone(operand.getOwner(), made)))
      return failure();
    missing.insert(made);
    pending.push_back(made);
    return success();
  };
  while (!pending.empty())
    if (failed(forCaptures(pending.pop_back_val(), from, note)))
      return failure();
  SmallVector<Operation *> ordered = missing.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

LogicalResult mlir::mtp::cloneCaptures(Block &body, Block &from,
                                       IRMapping &mapping, MayClone mayClone) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    FailureOr<SmallVector<Operation *>> missing =
        findMissing(op, from, mapping, mayClone);
    if (failed(missing))
      return failure();
    OpBuilder builder(&op);
    for (Operation *made : *missing)
      builder.clone(*made, mapping);
    (void)forCaptures(&op, from, [&](OpOperand &operand) {
      operand.set(mapping.lookup(operand.get()));
      return success();
    });
  }
  return success();
}
