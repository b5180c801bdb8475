//===- ControlKernel.h - Kernels that carry their body ----------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
#define MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H

#include "dialects/Exec/IR/ExecOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::exec {

/// Checks that buffers and tensors are what the body of `kernel` takes, with
/// rows for `tasks` tasks at every n; tensors for no others, but those of which
/// `mayHaveMore` is true. Reports through `op`.
LogicalResult
verifyBuffers(Operation *op, KernelOp kernel, ValueRange values, Count tasks,
              llvm::function_ref<bool(size_t)> mayHaveMore = nullptr);

/// On an scf.for of a body: its iterations may be shared by lanes.
inline constexpr StringLiteral kLanesAttr = "exec.lanes";

/// A loop whose iterations may come in any order, with the same bits: what it
/// carries are integers, of which each is joined with one of the iteration's by
/// an arith.addi, arith.maxsi or arith.minsi, and used by nothing else. It
/// stores nothing, and reads no buffer of a body's own.
struct LaneLoop {
  scf::ForOp loop;
  /// For each that is carried the operation that joins it, and the other
  /// operand.
  SmallVector<Operation *> joins;
  SmallVector<Value> numbers;
};

/// What `loop` is, where it has `kLanesAttr`, a step of 1 and such a form;
/// whoever wrote the attribute.
std::optional<LaneLoop> laneLoopOf(scf::ForOp loop);

/// Whether a loop for lanes stands at the top level of a body.
bool hasLaneLoop(Region &body);

/// The range of the values of indices, as far as constants and bounds of loops
/// tell.
class IndexRanges {
public:
  /// Looks at all that stands in `op`, which is isolated.
  explicit IndexRanges(Operation *op);
  ~IndexRanges();

  /// Whether `value` always lies in [least, most].
  bool isWithin(Value value, int64_t least, int64_t most) const;

private:
  struct Analysis;
  std::unique_ptr<Analysis> analysis;
};

/// Whether a task reads rows of `buffer` that may be another's.
bool readsOtherTasks(KernelOp kernel, size_t buffer);

/// Checks that a body touches nothing outside its buffers, whatever they hold:
/// the index of a row is the task's or, of what is read, an
/// `exec.nearest_task`, and every other one is in range by constants, bounds of
/// loops, minima and maxima. A kernel without a body passes.
LogicalResult verifyControlKernel(KernelOp kernel);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
