//===- ExecInterfaces.h - What passes ask of kernel calls -------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H

#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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

/// Columns of an activation, where a kernel finds them.
struct ColumnView {
  /// No view itself.
  Value root;
  /// The element of the first column of row 0, and elements from row to row.
  int64_t offset, stride;
  int64_t width;

  bool isWhole() const { return offset == 0 && stride == width; }
};

/// What `value` is a view of; all of it where it is none.
ColumnView viewOf(Value value);

/// Whether rows follow each other without a gap; so says what is not given.
bool isWhole(Value value);

/// The buffers behind operands, each from its view's first element on.
llvm::SmallVector<KernelOperand> resolveOperands(OperandRange operands);

/// Rows, columns (1 of a number per row) and extents of a call's operand.
int64_t rowsOf(Value value);
int64_t columnsOf(Value value);
llvm::ArrayRef<int64_t> shapeOf(Value value);

class EntryWriterOpInterface;
class KernelOpInterface;

/// Whether `other` writes entries, too, and a row of the one call and that row
/// of the other are the same entry.
bool writesSameEntries(EntryWriterOpInterface call, Operation *other);

/// Buffers are read and, where the kernel updates them, written.
void addKernelEffects(
    KernelOpInterface call,
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
