//===- TokenWeight.h - The weight of a token in a row -----------*- C++ -*-===//
//
// The part of runtime/device/cpu/SampleMath.h that filters go by, operation by
// operation: what sampling keeps, a distribution has, on every target.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H
#define COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// From here on a token has weight 0.
inline constexpr float kFarDistance = 28;

/// Of f32 lanes: how far logits are from the best one, in units of the
/// temperature; kFarDistance for those that are not less.
Value emitDistance(KernelBuilder &kb, Value best, Value perTemperature,
                   Value logit);

/// e^-d of lanes of distances.
struct TokenWeight {
  /// It is power * 2^-n; f32, and i32 in [0, 40].
  Value power, n;
};
TokenWeight emitWeight(KernelBuilder &kb, Value distance);
/// The same in units of 2^-40 (i64), rounded down: sums are exact in any order.
Value emitUnits(KernelBuilder &kb, const TokenWeight &weight);

/// i32 in the order of f32, uniform or lanes, by signed comparisons; both zeros
/// are one.
Value emitOrder(KernelBuilder &kb, Value value);

/// What min-p asks of a weight, in these units (i64, uniform).
Value emitLeastUnits(KernelBuilder &kb, Value minP);
/// The share `topP` of a sum of weights, rounded up, and at least 1.
Value emitShareOfUnits(KernelBuilder &kb, Value topP, Value sum);

/// The sum of i64 lanes, uniform.
Value emitSumOfUnits(KernelBuilder &kb, Value lanes);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H
