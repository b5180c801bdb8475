//===- SplitProgram.h - Two programs for the parts of a range ---*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_SPLITPROGRAM_H
#define MTP_PASSES_EXEC_SPLITPROGRAM_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Leaves `program` what is below `at` and returns a copy for the rest, behind
/// it; `at` is one of its n, but not the least. The copy is named by where it
/// begins.
exec::ProgramOp splitProgram(exec::ProgramOp program, int64_t at,
                             SymbolTable &symbols);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_SPLITPROGRAM_H
