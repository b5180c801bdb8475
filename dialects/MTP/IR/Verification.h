//===- Verification.h - What the op verifiers share -----------*- C++ -*-===//
//
// Small checks with one wording each. A failing check reports through the
// operation and names the constraint's operand, so that verifiers read as the
// list of their constraints.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_MTP_IR_VERIFICATION_H
#define DIALECTS_MTP_IR_VERIFICATION_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Columns of the last dimension, reporting if they are dynamic.
FailureOr<int64_t> staticWidth(Operation *op, StringRef what, Value value);

/// Whether a width of `op` is open and need not be known: in a private
/// function, whose callers say it. What is inlined of it is verified with its
/// widths.
bool hasOpenWidths(Operation *op);

/// `what` has the width `expected`.
LogicalResult expectWidth(Operation *op, StringRef what, Value value,
                          int64_t expected);

/// `what` has as many rows as `reference`: both dynamic, or equal.
LogicalResult expectRows(Operation *op, StringRef what, Value value,
                         Value reference);

/// `value` is at least 1.
LogicalResult expectPositive(Operation *op, StringRef what, int64_t value);

/// `value` is a finite number above zero.
LogicalResult expectFinitePositive(Operation *op, StringRef what,
                                   const APFloat &value);

/// 0 <= begin < end <= limit.
LogicalResult expectRange(Operation *op, StringRef what, int64_t begin,
                          int64_t end, int64_t limit);

/// The product of two counts, reporting if it does not fit.
FailureOr<int64_t> product(Operation *op, StringRef what, int64_t a, int64_t b);

/// The weight is `rows` by `cols`.
LogicalResult expectMatrix(Operation *op, StringRef what, Value weight,
                           int64_t rows, int64_t cols);

/// The symbol is an mtp.cache with the layer and entries of at least `width`.
LogicalResult verifyCacheUse(Operation *op, SymbolTableCollection &symbols,
                             FlatSymbolRefAttr name,
                             std::optional<int64_t> layer, int64_t width);

/// The mtp.recurrence of that name, which has the layer; null, without an
/// error, where `name` is null.
FailureOr<RecurrenceOp> findRecurrence(Operation *op,
                                       SymbolTableCollection &symbols,
                                       FlatSymbolRefAttr name,
                                       std::optional<int64_t> layer);

/// The symbol declares a state of such elements, with so many extents for one
/// slot (for all of it where it is shared).
LogicalResult verifyStateUse(Operation *op, SymbolTableCollection &symbols,
                             FlatSymbolRefAttr name, Type elementType,
                             int64_t rank);

/// Programs may write the state: no request brings it, and it has no other
/// writer (StateTable.h).
LogicalResult verifyWritten(Operation *op, SlotStateOpInterface state);

/// The symbol is an mtp.vocabulary of `columns` tokens, which the target of the
/// round has; null passes.
LogicalResult verifyVocabularyUse(Operation *op, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr name, int64_t columns);

/// Parents of a static tree: see draft_tree_c1.
LogicalResult verifyParents(Operation *op, ArrayRef<int64_t> parents);

/// Of a tree that is static or, else, has a slot's parents: it is one of the
/// two or none, and well formed.
LogicalResult verifyTree(Operation *op, std::optional<ArrayRef<int64_t>> tree,
                         Value parents);

/// `path` is relative and stays below the folder that it is relative to.
bool isContainedPath(StringRef path);

/// The region's arguments have these types, in this order.
LogicalResult expectArguments(Operation *op, Region &region, TypeRange types,
                              StringRef what);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_VERIFICATION_H
