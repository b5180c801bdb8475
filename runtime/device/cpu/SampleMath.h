//===- SampleMath.h - Noise and weight of a token, to the bit ---*- C++ -*-===//
//
// The computation that sampling does for one token. The result has the same
// bits on every target and machine. It uses additions and multiplications of
// f32 as in IEEE 754, rounded to nearest even and never fused, and otherwise
// integers; no library is called. The order of operations, the constants and
// the counter of Philox are part of the definition. A seed gives the same
// tokens forever, so nothing here may change.
//
//   Distance  d = (best logit - logit) * (1 / temperature), or kFarDistance if
//             that is not less, as for NaN and -infinity.
//   Noise     g of one word of Philox4x32-10, whose key is the seed and whose
//             counter is {position, 1, token >> 2, 0}: word token & 3.
//   Key       g - d; the largest is picked, which draws from the softmax
//             (Gumbel, 1954; Maddison et al., "A* sampling", NIPS 2014).
//   Weight    e^-d in units of 2^-40, for filters: sums are exact in any order.
//
// The logarithm and the exponential are minimax polynomials (Remez) after an
// exact reduction of the argument, as in Muller, "Elementary functions".
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CPU_SAMPLEMATH_H
#define MTP_RUNTIME_DEVICE_CPU_SAMPLEMATH_H

#include <bit>
#include <cstdint>

namespace mtp {

/// Loops over lanes are inlined into functions for several instruction sets.
#define MTP_LANE [[gnu::always_inline]] inline

/// Counter word that separates this noise from any other use of the key.
inline constexpr uint32_t kSamplePurpose = 1;

/// Distance from which a token has weight 0 and no noise lets it win against
/// the best token: noise is between -3.13 and 22.88.
inline constexpr float kFarDistance = 28;
inline constexpr float kMaxNoise = 22.88f;

/// The weight of the best token.
inline constexpr uint64_t kFullWeight = uint64_t(1) << 40;

/// Returns -log(1 - t) for t in [0, 1/2], within 1.2 ulp.
MTP_LANE float minusLogOfRest(float t) {
  float q = 0x1.bef62ep+0f;
  q = q * t + -0x1.3dbcbep+1f;
  q = q * t + 0x1.fa09e6p+0f;
  q = q * t + -0x1.30d3fp-1f;
  q = q * t + 0x1.5d3b7p-2f;
  q = q * t + 0x1.67d03ap-3f;
  q = q * t + 0x1.01ef12p-2f;
  q = q * t + 0x1.5542acp-2f;
  q = q * t + 0x1.00001ep-1f;
  return t + (t * t) * q;
}

/// Returns the significand of a positive number, between 1/2 and 1.
MTP_LANE float significandOf(uint32_t bits) {
  return std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);
}

/// Returns standard Gumbel noise: -log(-log(u)), u = (word + 1/2) / 2^32,
/// within 2e-6.
MTP_LANE float gumbelNoise(uint32_t word) {
  constexpr float kLn2 = 0x1.62e43p-1f;
  // Distance of u from 1 or 0, whichever is nearer, in units of 2^-32. A float
  // of u alone would lose the bits that make a token win.
  int32_t sign = int32_t(word) >> 31;
  float nearest = float(int32_t(word) ^ sign) + 0.5f;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  float t = sign ? nearest * 0x1p-32f : 1.0f - significandOf(bits);
  float base = sign ? 0.0f : float(158 - int32_t(bits >> 23)) * kLn2;
  float exponential = minusLogOfRest(t) + base;
  bits = std::bit_cast<uint32_t>(exponential);
  return minusLogOfRest(1.0f - significandOf(bits)) -
         float(int32_t(bits >> 23) - 126) * kLn2;
}

/// Returns e^-d in units of 2^-40, rounded down, for d in [0, kFarDistance]:
/// within two parts in 2^24, monotonic, 2^40 for 0.
MTP_LANE uint64_t weightOf(float d) {
  // d = n ln 2 - r with |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to an
  // integer and leaves it in the low bits.
  constexpr float kMagic = 12582912.0f;
  float shifted = d * 0x1.715476p+0f + kMagic;
  int32_t n = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kMagic);
  float whole = shifted - kMagic;
  float r = (whole * 0.693359375f - d) + whole * -0x1.bd0106p-13f;
  float q = 0x1.6a1a72p-10f;
  q = q * r + 0x1.123fc6p-7f;
  q = q * r + 0x1.555916p-5f;
  q = q * r + 0x1.55548ap-3f;
  q = q * r + 0x1.fffffcp-2f;
  float power = ((r * r) * q + r) + 1.0f;
  return uint64_t(uint32_t(int32_t(power * 0x1p24f))) << 16 >> n;
}

/// Returns an unsigned integer in the order of floats; both zeros give the
/// same.
MTP_LANE uint32_t orderOf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits ^ (bits >> 31 ? ~uint32_t(0) : uint32_t(1) << 31);
}

/// Returns the float of an integer of orderOf().
MTP_LANE float valueOf(uint32_t order) {
  return std::bit_cast<float>(order ^
                              (order >> 31 ? uint32_t(1) << 31 : ~uint32_t(0)));
}

/// Packs a pick. The larger one wins: the larger key, among equals the lower
/// token.
MTP_LANE uint64_t packPick(float key, uint32_t token) {
  return uint64_t(orderOf(key)) << 32 | uint32_t(~token);
}

/// Returns a lower bound of the words whose noise is `noise` or more. The noise
/// is at most -log(x), x = 1 - u, and 2^(n + f) is at most 2^n (1 + f).
MTP_LANE uint32_t leastWordOf(float noise) {
  constexpr float kSlack = 0.001f;
  float power = 32 - (noise - kSlack) * 0x1.715476p+0f;
  if (!(power < 31))
    return 0;
  power = power < 0 ? 0 : power;
  float most = std::bit_cast<float>(uint32_t((power + 127) * 0x1p23f));
  return ~uint32_t(int64_t(most));
}

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_SAMPLEMATH_H
