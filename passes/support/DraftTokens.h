//===- DraftTokens.h - What the columns of logits stand for -----*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_DRAFTTOKENS_H
#define MTP_PASSES_SUPPORT_DRAFTTOKENS_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// One number for each column, as kernels look them up by row.
DenseElementsAttr columnTable(MLIRContext *context,
                              llvm::ArrayRef<int32_t> numbers);

/// What `columns`, one per row, have in `table`, a reference to such a
/// constant.
Value lookUpColumns(OpBuilder &builder, Location loc, Value table,
                    Value columns);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_DRAFTTOKENS_H
