//===- ProjectionRoles.h - Find heads and routers ---------------*- C++ -*-===//

#ifndef MTP_PASSES_LOWER_PROJECTIONROLES_H
#define MTP_PASSES_LOWER_PROJECTIONROLES_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Sets the role of a program's projections that have none: router if experts
/// are chosen by their results, head if tokens are picked by them.
void findRoles(exec::ProgramOp program);

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_PROJECTIONROLES_H
