//===- OpenWidths.h - Functions of any width --------------------*- C++ -*-===//

#ifndef MTP_PASSES_MODEL_OPENWIDTHS_H
#define MTP_PASSES_MODEL_OPENWIDTHS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mtp {

/// Gives what was inlined below `root` the widths that follow from its
/// operands, where they were open. Where a call said another type than its
/// callee one of `casts` stands: it goes, or it is an error.
LogicalResult refineWidths(Operation *root, const DenseSet<Operation *> &casts);

} // namespace mlir::mtp

#endif // MTP_PASSES_MODEL_OPENWIDTHS_H
