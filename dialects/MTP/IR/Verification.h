//===- Verification.h - Checks shared by the op verifiers -------*- C++ -*-===//
//
// Small checks with one wording each. A failing check reports through the
// operation and names the constraint's operand, so that verifiers read as the
// list of their constraints.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_MTP_IR_VERIFICATION_H
#define MTP_DIALECTS_MTP_IR_VERIFICATION_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Returns the columns of the last dimension; reports an error if dynamic.
FailureOr<int64_t> staticWidth(Operation *op, StringRef what, Value value);

/// Returns whether a width of `op` may be unknown: in a private function, whose
/// callers give the width. An inlined function is verified with known widths.
bool hasOpenWidths(Operation *op);

/// Checks that `what` has the width `expected`.
LogicalResult expectWidth(Operation *op, StringRef what, Value value,
                          int64_t expected);

/// Checks that `what` has the number of rows of `reference`: both dynamic, or
/// equal.
LogicalResult expectRows(Operation *op, StringRef what, Value value,
                         Value reference);

/// Checks that `value` is at least 1.
LogicalResult expectPositive(Operation *op, StringRef what, int64_t value);

/// Checks that `value` is a finite number above zero.
LogicalResult expectFinitePositive(Operation *op, StringRef what,
                                   const APFloat &value);

/// Checks that 0 <= begin < end <= limit.
LogicalResult expectRange(Operation *op, StringRef what, int64_t begin,
                          int64_t end, int64_t limit);

/// Returns the product of two counts; reports an error if it does not fit.
FailureOr<int64_t> product(Operation *op, StringRef what, int64_t a, int64_t b);

/// Checks that the weight is `rows` by `cols`.
LogicalResult expectMatrix(Operation *op, StringRef what, Value weight,
                           int64_t rows, int64_t cols);

/// Checks that the symbol is an mtp.cache with the layer and entries of at
/// least `width`.
LogicalResult verifyCacheUse(Operation *op, SymbolTableCollection &symbols,
                             FlatSymbolRefAttr name,
                             std::optional<int64_t> layer, int64_t width);

/// Returns the mtp.recurrence of that name, which must have the layer. Returns
/// null without an error if `name` is null.
FailureOr<RecurrenceOp> findRecurrence(Operation *op,
                                       SymbolTableCollection &symbols,
                                       FlatSymbolRefAttr name,
                                       std::optional<int64_t> layer);

/// Checks that the symbol declares a state of such elements, with the given
/// number of extents for one slot, or for all slots if it is shared.
LogicalResult verifyStateUse(Operation *op, SymbolTableCollection &symbols,
                             FlatSymbolRefAttr name, Type elementType,
                             int64_t rank);

/// Checks that programs may write the state: no request brings it, and it has
/// no other writer (StateTable.h).
LogicalResult verifyWritten(Operation *op, SlotStateOpInterface state);

/// Checks that the symbol is an mtp.vocabulary of `columns` tokens, which the
/// target of the round has. Null passes.
LogicalResult verifyVocabularyUse(Operation *op, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr name, int64_t columns);

/// Checks the parents of a static tree: see draft_tree_c1.
LogicalResult verifyParents(Operation *op, ArrayRef<int64_t> parents);

/// Checks a tree that is static, or has a slot's parents, or is absent: at most
/// one of the two is given, and it is well formed.
LogicalResult verifyTree(Operation *op, std::optional<ArrayRef<int64_t>> tree,
                         Value parents);

/// Returns whether `path` is relative and stays below its base folder.
bool isContainedPath(StringRef path);

/// Checks that the region's arguments have these types, in this order.
LogicalResult expectArguments(Operation *op, Region &region, TypeRange types,
                              StringRef what);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_VERIFICATION_H
