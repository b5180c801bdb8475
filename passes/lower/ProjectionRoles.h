//===- ProjectionRoles.h - Which projections are heads ----------*- C++ -*-===//

#ifndef MTP_PASSES_LOWER_PROJECTIONROLES_H
#define MTP_PASSES_LOWER_PROJECTIONROLES_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Gives the projections of a program that say no role theirs, by what their
/// results come to: experts are chosen by them, or tokens picked.
void findRoles(exec::ProgramOp program);

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_PROJECTIONROLES_H
