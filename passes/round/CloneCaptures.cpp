//===- CloneCaptures.cpp - Clone captured values --------------------------===//
//
// A region of a round may use all values above it. Code that clones its ops
// elsewhere clones these values, too. Every operand is checked, at any nesting
// depth.
//
//===----------------------------------------------------------------------===//

#include "passes/round/CloneCaptures.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

/// Calls `visit` for each operand at or below `root` that is defined in `from`.
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

/// Returns the ops of `from` that `user` needs and that `mapping` lacks, each
/// op after its operands.
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
