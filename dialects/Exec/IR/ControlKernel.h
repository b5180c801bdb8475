//===- ControlKernel.h - Kernels that carry their body ----------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
#define MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::exec {

/// Checks that buffers and tensors are what the body of `kernel` takes, with
/// rows for `tasks` tasks at every n. Reports through `op`.
LogicalResult verifyBuffers(Operation *op, KernelOp kernel, ValueRange values,
                            Count tasks);

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

/// Checks that a body touches nothing outside its buffers, whatever they hold:
/// the index of a row is the task's, and every other one is in range by
/// constants, bounds of loops, minima and maxima. A kernel without a body
/// passes.
LogicalResult verifyControlKernel(KernelOp kernel);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_CONTROLKERNEL_H
