//===- WeightQuantizer.cpp - Rounding weights to integers -----------------===//
//
// A group has one scale per output. int8 takes the scale at which the largest
// value is 127. int4 has too few steps for that to be good: it tries several
// scales of either sign, since -8 has no counterpart, takes the one that leaves
// the least squared error, and rounds once more by the best scale for what it
// rounded to.
//
// All loops run over the 32 outputs innermost: they are vector code then, and
// every sum has one order. On x86 they are compiled twice, also with AVX2 but
// without fused multiply-add, so that every machine packs the same bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/WeightQuantizer.h"

#include <cstring>

// What has loops is inlined into both versions of the function. The loader
// chooses one, as glibc's can; it does so before a thread sanitizer is there,
// which the choosing function would call.
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

/// A group whose values are all smaller counts as zeros: its scale would have
/// no reciprocal.
constexpr float kLeastValue = 1e-36f;

/// The nearest integer, ties to even, of values below 2^22.
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

/// What an input is rounded to.
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
    break; // Not quantised.
  }
  return {};
}

/// The scales of int4 that are tried: the largest magnitude over these.
constexpr float kInt4Steps[] = {7.0f, 7.5f, 8.0f, 8.6f, 9.4f};

/// With integers q, the scale sum(xq) / sum(qq) is the best there is, and takes
/// sum(xq)^2 / sum(qq) off the squared error. Keeps it where that is more than
/// `best`.
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
    // What it takes off, in units of the values; its root, since the square may
    // not fit a float.
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
    break; // Not quantised.
  }
  return {};
}

/// QuantizationError per output.
struct ErrorLanes {
  double squaredError[kOutputs] = {};
  double squaredNorm[kOutputs] = {};
  double maxError[kOutputs] = {};

  void addTo(QuantizationError &error) const {
    for (int64_t o = 0; o < kOutputs; ++o)
      error.add({squaredError[o], squaredNorm[o], maxError[o]});
  }
};

/// Rounds one input of all outputs by `scales`.
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
  // Of four bytes of an output; the second four inputs are the high halves.
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

/// Turns a tile into the group's values and finds the largest magnitude of each
/// output. Returns false if a value is a NaN or infinite.
MTP_INLINE bool readGroup(const float *tile, int64_t pitch, Group &group,
                          Lanes &largest) {
  // Times zero, what is not finite is a NaN, and stays one in a sum.
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
  std::memcpy(out, scales.at, sizeof(scales.at));
  static_assert(sizeof(scales.at) == QuantizedPanel::kScaleBytes);
  writeIntegers(format, group, scales, out + sizeof(scales.at), error);
  return true;
}

} // namespace mtp
