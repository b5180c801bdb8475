//===- SplitProgram.h - Split a program's range of n ------------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_SPLITPROGRAM_H
#define MTP_PASSES_EXEC_SPLITPROGRAM_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Limits `program` to n below `at` and inserts a copy for the rest after it,
/// which it returns. `at` is one of the program's n, but not the least. The
/// copy's name contains its first n.
exec::ProgramOp splitProgram(exec::ProgramOp program, int64_t at,
                             SymbolTable &symbols);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_SPLITPROGRAM_H
