//===- InferWidths.h - Infer widths of inlined functions --------*- C++ -*-===//

#ifndef MTP_PASSES_MODEL_INFERWIDTHS_H
#define MTP_PASSES_MODEL_INFERWIDTHS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mtp {

/// Derives the open widths of the ops inlined below `root` from their operands.
/// `casts` mark results whose type differs between call and callee. Each cast
/// is removed, or reported as an error.
LogicalResult refineWidths(Operation *root, const DenseSet<Operation *> &casts);

} // namespace mlir::mtp

#endif // MTP_PASSES_MODEL_INFERWIDTHS_H
