//===- ExecInterfaces.h - What passes ask of kernel calls -------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H

#include "dialects/Exec/IR/ExecAttrs.h"
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

/// Whether the extents of a type are static, but for the number of rows of a
/// tensor that says it (`#exec.count`), or of a list of numbers in a buffer.
bool hasCountedShape(ShapedType type);

/// Rows and columns (1 of a number per row) of a call's operand. The rows of a
/// buffer are what the op says that defines it.
Count rowsOf(Value value);
int64_t columnsOf(Value value);
/// All extents.
llvm::SmallVector<Count, 3> extentsOf(Value value);
/// All extents as the type has them: the first one may be dynamic.
llvm::ArrayRef<int64_t> shapeOf(Value value);

/// Elements of a tensor or of a buffer that is no cache; nothing where they do
/// not fit.
std::optional<Count> elementsOf(Value value);

/// The rows of the buffer behind an operand, so far as its type says them: 0
/// where it does not, and of no operand.
int64_t rowLimitOf(Value value);

/// The type of `rows` rows of what one row of `like` has, and of `columns` of
/// such elements.
RankedTensorType withRows(RankedTensorType like, Count rows);
RankedTensorType rowsType(Count rows, int64_t columns, Type element);

/// Params at n.
llvm::SmallVector<int64_t> evaluate(llvm::ArrayRef<Count> counts, int64_t n);

class EntryWriterOpInterface;
class KernelOpInterface;

/// Whether `other` writes entries, too, and a row of the one call and that row
/// of the other are the same entry.
bool writesSameEntries(EntryWriterOpInterface call, Operation *other);

/// Whether an operand has the rows of a call that goes by rows, not by slots.
bool hasCallsRows(KernelOpInterface call, size_t index);

/// Buffers are read and, where the kernel updates them, written.
void addKernelEffects(
    KernelOpInterface call,
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECINTERFACES_H
