//===- WeightQuantizer.cpp - Rounding weights to integers -----------------===//
//
// A group has one scale per output. For int8 the scale maps the largest
// magnitude to 127. It may be rounded to f16 before inputs are divided by it.
// int4 has too few steps for that. It tries several scales of both signs,
// because -8 has no positive counterpart. It takes the scale with the least
// squared error, and rounds again with the best scale for the resulting
// integers.
//
// All loops run over the 32 outputs innermost, so they become vector code and
// each sum has a fixed order. On x86 they are compiled twice, the second time
// with AVX2 but without fused multiply-add, so that all machines pack equal
// bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/pack/WeightQuantizer.h"
#include "compiler/Quantize/Half.h"

#include <cstring>

// Functions with loops are inlined into both versions. The dynamic loader of
// glibc chooses a version. It does so before the thread sanitizer is
// initialised, and the choosing function must not call the sanitizer.
#define MTP_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define MTP_ALSO_AVX2 [[gnu::target_clones("avx2", "default")]]
#else
#define MTP_ALSO_AVX2
#endif

namespace mtp {

namespace {

constexpr int64_t kOutputs = QuantizedPanel::kOutputs;

/// One value per output.
struct Lanes {
  float at[kOutputs];
};

/// The values of one group, input by input.
struct Group {
  Lanes x[kMaxQuantGroup];
  int64_t inputs;
};

/// Least magnitude of a group. A group of smaller values counts as zeros,
/// because its scale would have no reciprocal.
constexpr float kLeastValue = 1e-36f;

/// Largest magnitude of a group with an f16 scale.
constexpr float kMostHalfValue = 65504.0f * 127;

/// Returns the nearest integer, ties to even, for |value| below 2^22.
MTP_INLINE float roundToInteger(float value) {
  return value + 12582912.0f - 12582912.0f;
}

MTP_INLINE float limited(float value, float least, float most) {
  return std::min(std::max(value, least), most);
}

MTP_INLINE Lanes reciprocals(const Lanes &scales) {
  Lanes result;
  for (int64_t o = 0; o < kOutputs; ++o)
    result.at[o] = scales.at[o] == 0 ? 0.0f : 1.0f / scales.at[o];
  return result;
}

/// The integers that an input is rounded to.
struct Integers {
  float least, most;
};

MTP_INLINE Integers integersOf(const WeightFormat &format) {
  switch (format.elements) {
  case WeightElements::Int8:
    return {-127, 127};
  case WeightElements::Int4:
    return {-8, 7};
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    break; // Not a plain format.
  }
  return {};
}

/// Divisors of the largest magnitude that give the scales tried for int4.
constexpr float kInt4Steps[] = {7.0f, 7.5f, 8.0f, 8.6f, 9.4f};

/// Tries the scales of a group. With integers q, the best scale is sum(xq) /
/// sum(qq), which reduces the squared error by sum(xq)^2 / sum(qq). Keeps it if
/// the reduction exceeds `best`.
MTP_INLINE void tryInt4Scales(const Group &group, const Lanes &scales,
                              Lanes &best, Lanes &bestScales) {
  Lanes perUnit = reciprocals(scales), xq = {}, qq = {};
  for (int64_t i = 0; i < group.inputs; ++i)
    for (int64_t o = 0; o < kOutputs; ++o) {
      float x = group.x[i].at[o];
      float q = limited(roundToInteger(x * perUnit.at[o]), -8, 7);
      xq.at[o] += x * perUnit.at[o] * q;
      qq.at[o] += q * q;
    }
  for (int64_t o = 0; o < kOutputs; ++o) {
    float ratio = qq.at[o] > 0 ? xq.at[o] / qq.at[o] : 0.0f;
    // The reduction in units of the values: its root, because the square may
    // overflow a float.
    float gain =
        std::fabs(scales.at[o]) * std::fabs(ratio) * std::sqrt(qq.at[o]);
    bool better = gain > best.at[o];
    best.at[o] = better ? gain : best.at[o];
    bestScales.at[o] = better ? ratio * scales.at[o] : bestScales.at[o];
  }
}

MTP_INLINE Lanes chooseInt8Scales(const Lanes &largest) {
  Lanes scales = {};
  for (int64_t o = 0; o < kOutputs; ++o)
    scales.at[o] = largest.at[o] / 127.0f;
  return scales;
}

MTP_INLINE Lanes chooseInt4Scales(const Group &group, const Lanes &largest) {
  Lanes scales = {}, best = {};
  for (float steps : kInt4Steps)
    for (float sign : {1.0f, -1.0f}) {
      Lanes candidate;
      for (int64_t o = 0; o < kOutputs; ++o)
        candidate.at[o] = sign * largest.at[o] / steps;
      tryInt4Scales(group, candidate, best, scales);
    }
  return scales;
}

MTP_INLINE Lanes chooseScales(const WeightFormat &format, const Group &group,
                              const Lanes &largest) {
  switch (format.elements) {
  case WeightElements::Int8:
    return chooseInt8Scales(largest);
  case WeightElements::Int4:
    return chooseInt4Scales(group, largest);
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    break; // Not a plain format.
  }
  return {};
}

/// QuantizationError for each output.
struct ErrorLanes {
  double squaredError[kOutputs] = {};
  double squaredNorm[kOutputs] = {};
  double maxError[kOutputs] = {};

  void addTo(QuantizationError &error) const {
    for (int64_t o = 0; o < kOutputs; ++o)
      error.add({squaredError[o], squaredNorm[o], maxError[o]});
  }
};

/// Rounds one input of all outputs with `scales`.
MTP_INLINE Lanes roundInput(const Integers &integers, const Lanes &x,
                            const Lanes &scales, const Lanes &perUnit,
                            ErrorLanes &errors) {
  Lanes q;
  for (int64_t o = 0; o < kOutputs; ++o) {
    q.at[o] = limited(roundToInteger(x.at[o] * perUnit.at[o]), integers.least,
                      integers.most);
    double off = double(x.at[o]) - double(q.at[o]) * scales.at[o];
    errors.squaredError[o] += off * off;
    errors.squaredNorm[o] += double(x.at[o]) * x.at[o];
    errors.maxError[o] = std::max(errors.maxError[o], std::fabs(off));
  }
  return q;
}

/// Rounds the group and writes its integers.
MTP_INLINE void writeIntegers(const WeightFormat &format, const Group &group,
                              const Lanes &scales, uint8_t *data,
                              QuantizationError &error) {
  Integers integers = integersOf(format);
  // Each word has four bytes of one output. For int4, inputs 4 to 7 are in the
  // high halves of the bytes.
  int64_t perWord = 32 / format.bits();
  int bias = format.bias();
  Lanes perUnit = reciprocals(scales);
  ErrorLanes errors;
  int64_t inputs = format.panel(group.inputs).storedInputs(group.inputs);
  for (int64_t i = 0; i < inputs; ++i) {
    Lanes q = {};
    if (i < group.inputs)
      q = roundInput(integers, group.x[i], scales, perUnit, errors);
    uint8_t *to = data + i / perWord * 4 * kOutputs + i % 4;
    bool isHigh = i % perWord >= 4;
    for (int64_t o = 0; o < kOutputs; ++o) {
      int stored = int(q.at[o]) + bias;
      to[o * 4] = uint8_t(isHigh ? to[o * 4] | stored << 4 : stored);
    }
  }
  errors.addTo(error);
}

/// Reads a tile into the group's values and finds the largest magnitude of each
/// output. Returns false if a value is a NaN or infinite.
MTP_INLINE bool readGroup(const float *tile, int64_t pitch, Group &group,
                          Lanes &largest) {
  // A value that is not finite becomes NaN when multiplied by zero, and so does
  // a sum that contains it.
  Lanes zeros = {};
  for (int64_t i = 0; i < group.inputs; ++i) {
    Lanes &x = group.x[i];
    for (int64_t o = 0; o < kOutputs; ++o)
      x.at[o] = tile[o * pitch + i];
    for (int64_t o = 0; o < kOutputs; ++o) {
      zeros.at[o] += x.at[o] * 0.0f;
      largest.at[o] = std::max(largest.at[o], std::fabs(x.at[o]));
    }
  }
  bool isFinite = true;
  for (float zero : zeros.at)
    isFinite &= zero == 0;
  return isFinite;
}

/// Rounds scales of int8 to f16 and writes them. A rounded scale is not so
/// small that the largest magnitude exceeds 127.5 steps.
MTP_INLINE void writeHalfScales(const Lanes &largest, Lanes &scales,
                                uint8_t *out) {
  uint16_t halves[kOutputs];
  static_assert(sizeof(halves) == QuantizedPanel::kScaleBytes / 2);
  for (int64_t o = 0; o < kOutputs; ++o) {
    halves[o] = roundToHalf(scales.at[o]);
    if (widenHalf(halves[o]) * 127.5f < largest.at[o])
      ++halves[o];
    scales.at[o] = widenHalf(halves[o]);
  }
  std::memcpy(out, halves, sizeof(halves));
}

} // namespace

MTP_ALSO_AVX2 bool quantizeGroup(const WeightFormat &format, const float *tile,
                                 int64_t pitch, int64_t inputs, uint8_t *out,
                                 QuantizationError &error) {
  Group group;
  group.inputs = inputs;
  Lanes largest = {};
  if (!readGroup(tile, pitch, group, largest))
    return false;
  for (float &value : largest.at)
    value = value < kLeastValue ? 0.0f : value;
  Lanes scales = chooseScales(format, group, largest);
  static_assert(sizeof(scales.at) == QuantizedPanel::kScaleBytes);
  if (format.scales == WeightScales::F16) {
    if (*std::max_element(largest.at, largest.at + kOutputs) > kMostHalfValue)
      return false;
    writeHalfScales(largest, scales, out);
  } else {
    std::memcpy(out, scales.at, sizeof(scales.at));
  }
  writeIntegers(format, group, scales,
                out + format.panel(inputs).headerBytes(inputs), error);
  return true;
}

} // namespace mtp
