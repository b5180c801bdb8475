//===- RowNorm.h - The scale of a root-mean-square norm ---------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_ROWNORM_H
#define MTP_COMPILER_CODEGEN_ROWS_ROWNORM_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Returns 1 / sqrt(mean(x^2) + eps) of `width` f32 values at `x`, as a scalar.
/// A separate norm and a norm fused into a projection both use this function,
/// so that both have equal bits.
Value emitInverseRms(KernelBuilder &kb, Value x, int64_t width, float eps);

/// Returns 1 / sqrt(sum / width + eps) of a sum of squares.
Value emitInverseOfSquares(KernelBuilder &kb, Value sum, int64_t width,
                           float eps);

/// Returns x * inverse * (offset + weight), on one vector.
Value emitScaleByNorm(KernelBuilder &kb, Value x, Value inverse, Value weight,
                      int64_t offset);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_ROWNORM_H
