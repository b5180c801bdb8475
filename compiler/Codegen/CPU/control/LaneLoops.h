//===- LaneLoops.h - Vectorized loops of a body -----------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_CONTROL_LANELOOPS_H
#define MTP_COMPILER_CODEGEN_CPU_CONTROL_LANELOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mtp::codegen {

/// Marks `loop` for vectorization by LLVM. Its iterations must be independent
/// and must not store (`exec::LaneLoop`). Iterations whose indices are all in
/// range get a loop of their own without the clamps to the range, so that they
/// load adjacent elements.
void vectorizeLaneLoop(mlir::scf::ForOp loop);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_CONTROL_LANELOOPS_H
