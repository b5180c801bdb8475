//===- DraftTokens.h - Tokens of the columns of logits ----------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_DRAFTTOKENS_H
#define MTP_PASSES_SUPPORT_DRAFTTOKENS_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Returns a table with one number per column, in the layout in which kernels
/// look numbers up by row.
DenseElementsAttr columnTable(MLIRContext *context,
                              llvm::ArrayRef<int32_t> numbers);

/// Looks each of `columns`, one per row, up in `table`, a reference to a
/// constant that `columnTable` made.
Value lookUpColumns(OpBuilder &builder, Location loc, Value table,
                    Value columns);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_DRAFTTOKENS_H
