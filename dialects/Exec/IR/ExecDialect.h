//===- ExecDialect.h - The exec dialect -------------------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECDIALECT_H
#define MTP_DIALECTS_EXEC_IR_EXECDIALECT_H

#include "dialects/MTP/IR/MTPDialect.h"
#include "mlir/IR/Dialect.h"

#include "dialects/Exec/IR/ExecDialect.h.inc"

namespace mlir::exec {

/// Attributes of a module, dictionaries of numbers: the model (`modules`,
/// `vocab`), and the memory of all its programs (`arena_bytes`, `state_bytes`).
inline constexpr llvm::StringLiteral kModelAttr = "exec.model";
inline constexpr llvm::StringLiteral kModules = "modules", kVocab = "vocab";
inline constexpr llvm::StringLiteral kPlanAttr = "exec.plan";
inline constexpr llvm::StringLiteral kArenaBytes = "arena_bytes",
                                     kStateBytes = "state_bytes";

/// Returns a number of such a dictionary; 0 if the module has none.
int64_t moduleNumber(Operation *module, llvm::StringRef attribute,
                     llvm::StringRef key);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_EXECDIALECT_H
