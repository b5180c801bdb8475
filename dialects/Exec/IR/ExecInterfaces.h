//===- ExecInterfaces.h - What passes ask of kernel calls -------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H

#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::exec {

/// A buffer that a kernel is given.
struct KernelOperand {
  Value value;
  /// The element at which the kernel's view of it begins.
  int64_t offset = 0;
};

/// Whether two operands are one value, or references to the same layer of one
/// resource, from the same element on.
bool isSameOperand(const KernelOperand &a, const KernelOperand &b);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
