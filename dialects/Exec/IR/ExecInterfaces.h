//===- ExecInterfaces.h - Interfaces of kernel calls ------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::exec {

/// A buffer operand of a kernel.
struct KernelOperand {
  Value value;
  /// The first element of the kernel's view of the buffer.
  int64_t offset = 0;
};

/// Returns whether two operands are the same value, or references to the same
/// layer of one resource from the same element on.
bool isSameOperand(const KernelOperand &a, const KernelOperand &b);

/// Columns of an activation, in the memory of the activation.
struct ColumnView {
  /// The activation; not a view itself.
  Value root;
  /// The element of the first column of row 0, and the distance of rows in
  /// elements.
  int64_t offset, stride;
  int64_t width;

  bool isWhole() const { return offset == 0 && stride == width; }
};

/// Returns the columns that `value` is a view of; all columns if it is no view.
ColumnView viewOf(Value value);

/// Returns whether rows follow each other without a gap, or the value is not
/// given.
bool isWhole(Value value);

/// Returns the buffers of operands, each with the first element of its view.
llvm::SmallVector<KernelOperand> resolveOperands(OperandRange operands);

/// Returns whether the extents of a type are static, except for a number of
/// rows given by the tensor's encoding (`#exec.count`), or the first extent of
/// a list of numbers in a buffer.
bool hasCountedShape(ShapedType type);

/// Returns the rows and columns (1 for one number per row) of a call's operand.
/// The op that defines a buffer gives its number of rows.
Count rowsOf(Value value);
int64_t columnsOf(Value value);
/// Returns all extents.
llvm::SmallVector<Count, 3> extentsOf(Value value);
/// Returns all extents as in the type: the first one may be dynamic.
llvm::ArrayRef<int64_t> shapeOf(Value value);

/// Returns the elements of a tensor, or of a buffer that is no cache. Returns
/// nothing if they do not fit.
std::optional<Count> elementsOf(Value value);

/// Returns the rows of an operand's buffer that its type gives. Returns 0 if
/// the type does not give them or there is no operand.
int64_t rowLimitOf(Value value);

/// Returns the type of `rows` rows like `like`, or of `columns` of its
/// elements.
RankedTensorType withRows(RankedTensorType like, Count rows);
RankedTensorType rowsType(Count rows, int64_t columns, Type element);

/// Returns the params at n.
llvm::SmallVector<int64_t> evaluate(llvm::ArrayRef<Count> counts, int64_t n);

class EntryWriterOpInterface;
class KernelOpInterface;

/// Returns whether `other` also writes entries, and every row of both calls has
/// the same entry.
bool writesSameEntries(EntryWriterOpInterface call, Operation *other);

/// Returns whether an operand has one row for each row of a call that works by
/// rows, not by slots.
bool hasCallsRows(KernelOpInterface call, size_t index);

/// Adds the effects: buffers are read and, if the kernel updates them, written.
void addKernelEffects(
    KernelOpInterface call,
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
