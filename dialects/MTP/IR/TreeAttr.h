//===- TreeAttr.h - The attribute of a static tree --------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_TREEATTR_H
#define MTP_DIALECTS_MTP_IR_TREEATTR_H

#include "llvm/ADT/StringRef.h"

namespace mlir::mtp {

/// Attribute of a module whose rounds verify a static tree: the parents of the
/// tree's nodes (DenseI64ArrayAttr). The artifact contains them.
inline constexpr llvm::StringLiteral kTreeAttr = "mtp.tree";

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_TREEATTR_H
