//===- Half.h - Numbers of 16 bits ------------------------------*- C++ -*-===//

#ifndef MTP_COMPILER_QUANTIZE_HALF_H
#define MTP_COMPILER_QUANTIZE_HALF_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace mtp {

/// Returns the f16 nearest to `value`, ties to even. Values beyond the largest
/// finite f16 become the largest. `value` is not a NaN.
inline uint16_t roundToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  float magnitude = std::fabs(value);
  if (magnitude >= 65504.0f)
    return sign | 0x7bff;
  // A sum with 0.5 leaves multiples of 2^-24, the smallest f16, in the low
  // bits.
  if (magnitude < 0x1p-14f)
    return uint16_t(sign | (std::bit_cast<uint32_t>(magnitude + 0.5f) -
                            std::bit_cast<uint32_t>(0.5f)));
  uint32_t rest = (bits & 0x7fffffff) - (uint32_t(127 - 15) << 23);
  return uint16_t(sign | ((rest + 0xfff + (rest >> 13 & 1)) >> 13));
}

/// Returns the value of a finite f16.
inline float widenHalf(uint16_t half) {
  uint32_t rest = half & 0x7fff;
  float magnitude = rest < 0x400
                        ? float(rest) * 0x1p-24f
                        : std::bit_cast<float>((rest << 13) + (112u << 23));
  return half & 0x8000 ? -magnitude : magnitude;
}

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_HALF_H
