//===- WeightQuantizer.h - Rounding weights to integers ---------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_WEIGHTQUANTIZER_H
#define MTP_COMPILER_WEIGHTS_PACK_WEIGHTQUANTIZER_H

#include "runtime/schema/WeightFormat.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mtp {

/// The difference between a weight W and its quantised form Q.
struct QuantizationError {
  /// Sums over all elements: (W - Q)^2 and W^2.
  double squaredError = 0, squaredNorm = 0;
  /// Largest |W - Q|.
  double maxError = 0;

  /// Returns ||W - Q|| / ||W||. 0 if W is all zeros.
  double relativeRms() const {
    return squaredNorm > 0 ? std::sqrt(squaredError / squaredNorm) : 0;
  }
  void add(const QuantizationError &other) {
    squaredError += other.squaredError;
    squaredNorm += other.squaredNorm;
    maxError = std::max(maxError, other.maxError);
  }
};

/// Returns whether quantizeGroup() has a format: plain formats, and int8 with
/// f16 scales.
constexpr bool canQuantizeGroups(const WeightFormat &format) {
  return format.isPlain() ||
         (format.elements == WeightElements::Int8 &&
          format.scales == WeightScales::F16 && !format.hasOffset);
}

/// Quantises one group of a panel: `inputs` columns of 32 rows, with element
/// (row, i) at tile[row * pitch + i]. Writes a group of QuantizedPanel and adds
/// to `error`. Returns false, with unspecified output, if a value is a NaN,
/// infinite, or too large for an f16 scale. Precondition: canQuantizeGroups().
bool quantizeGroup(const WeightFormat &format, const float *tile, int64_t pitch,
                   int64_t inputs, uint8_t *out, QuantizationError &error);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_WEIGHTQUANTIZER_H
