//===- LaneLoops.h - Loops of a body in vectors -----------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_LANELOOPS_H
#define COMPILER_CODEGEN_CPU_LANELOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mtp::codegen {

/// Lets LLVM write `loop` in vectors, whose iterations may come in any order
/// with the same bits and store nothing (`exec::LaneLoop`). Those whose indices
/// are in range as they are get a loop of their own, without the minima and
/// maxima that keep others in range: so they load what lies side by side.
void vectorizeLaneLoop(mlir::scf::ForOp loop);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_LANELOOPS_H
