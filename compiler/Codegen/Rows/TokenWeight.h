//===- TokenWeight.h - Weight of a token in a row ---------------*- C++ -*-===//
//
// The part of runtime/device/cpu/SampleMath.h that filters tokens, operation by
// operation. A distribution therefore has the tokens that sampling keeps, on
// every target.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H
#define MTP_COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Distance from which on a token has weight 0.
inline constexpr float kFarDistance = 28;

/// Returns the distance of logits from the best one, in units of the
/// temperature (f32 lanes). Returns kFarDistance if the distance is not less.
Value emitDistance(KernelBuilder &kb, Value best, Value perTemperature,
                   Value logit);

/// e^-d for lanes of distances d.
struct TokenWeight {
  /// The weight is power * 2^-n; f32, and i32 in [0, 40].
  Value power, n;
};
TokenWeight emitWeight(KernelBuilder &kb, Value distance);
/// Returns the weight in units of 2^-40 (i64), rounded down. Sums of units are
/// exact in any order.
Value emitUnits(KernelBuilder &kb, const TokenWeight &weight);

/// Returns an i32 (uniform or lanes) for an f32. Signed comparison of these i32
/// orders them like the f32; -0 and 0 give equal i32.
Value emitOrder(KernelBuilder &kb, Value value);

/// Returns the smallest weight that min-p keeps, in units of 2^-40 (i64,
/// uniform).
Value emitLeastUnits(KernelBuilder &kb, Value minP);
/// Returns the share `topP` of a sum of weights, rounded up, and at least 1.
Value emitShareOfUnits(KernelBuilder &kb, Value topP, Value sum);

/// Returns the sum of i64 lanes, uniform.
Value emitSumOfUnits(KernelBuilder &kb, Value lanes);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_TOKENWEIGHT_H
