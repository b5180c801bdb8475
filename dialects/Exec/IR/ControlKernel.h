//===- ControlKernel.h - Kernels that carry their body ----------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
#define MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H

#include "dialects/Exec/IR/ExecOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::exec {

/// Checks that buffers and tensors have the types that the body of `kernel`
/// takes, with rows for `tasks` tasks at every n. A tensor has exactly that
/// number of rows, unless `mayHaveMore` is true for it. Reports through `op`.
LogicalResult
verifyBuffers(Operation *op, KernelOp kernel, ValueRange values, Count tasks,
              llvm::function_ref<bool(size_t)> mayHaveMore = nullptr);

/// Attribute of an scf.for of a body: lanes may share its iterations.
inline constexpr StringLiteral kLanesAttr = "exec.lanes";

/// A loop whose iterations may run in any order, with the same bits. Each
/// carried integer is joined with one integer of the iteration by an
/// arith.addi, arith.maxsi or arith.minsi, and has no other use. The loop
/// stores nothing, and reads no buffer that the body allocates.
struct LaneLoop {
  scf::ForOp loop;
  /// For each carried value: the operation that joins it, and its other
  /// operand.
  SmallVector<Operation *> joins;
  SmallVector<Value> numbers;
};

/// Returns the form of `loop` if it has `kLanesAttr`, a step of 1 and such
/// iterations. The author of the attribute does not matter.
std::optional<LaneLoop> laneLoopOf(scf::ForOp loop);

/// Returns whether a loop for lanes stands at the top level of a body.
bool hasLaneLoop(Region &body);

/// Ranges of index values, derived from constants and loop bounds.
class IndexRanges {
public:
  /// Analyses all nested ops of `op`, which is isolated.
  explicit IndexRanges(Operation *op);
  ~IndexRanges();

  /// Returns whether `value` always lies in [least, most].
  bool isWithin(Value value, int64_t least, int64_t most) const;

private:
  struct Analysis;
  std::unique_ptr<Analysis> analysis;
};

/// Returns whether a task may read rows of `buffer` that belong to other tasks.
bool readsOtherTasks(KernelOp kernel, size_t buffer);

/// Checks that a body accesses nothing outside its buffers, whatever they hold.
/// The index of a row must be the number of the task, or for reads an
/// `exec.clamp_task`. Every other index must be in range by constants, loop
/// bounds, minima and maxima. A kernel without a body passes.
LogicalResult verifyControlKernel(KernelOp kernel);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
