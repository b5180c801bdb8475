//===- OldOps.h - Errors for ops that have new names ------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_OLDOPS_H
#define MTP_DIALECTS_MTP_IR_OLDOPS_H

#include "mlir/IR/Dialect.h"

namespace mlir::mtp {

/// Returns a parser that fails with the new name of the op `name`, or nothing
/// if the op has no new name. All dialects share the table of names
/// (runtime/schema/OldNames.h).
std::optional<Dialect::ParseOpHook> parserOfOldOp(StringRef name);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_OLDOPS_H
