//===- RandomWeights.cpp - Weights without a checkpoint -------------------===//

#include "compiler/Weights/pack/RandomWeights.h"

#include <cmath>

namespace mtp {

namespace {

/// Spread of norms around one, and of biases around zero.
constexpr float kNormSpread = 0.1f;
constexpr float kBiasSpread = 0.02f;

/// Returns the finalizer of SplitMix64: each bit of the result depends on all
/// of `x`.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Converts 32 bits to a signed fraction from -1 to 1.
float fraction(uint32_t bits) { return float(int32_t(bits)) * 0x1p-31f; }

} // namespace

void RandomMatrix::read(int64_t first, int64_t count, float *out) const {
  // One random number gives two neighbouring values.
  auto pair = [this](int64_t index) {
    return mix(stream + uint64_t(index / 2) * 0x9e3779b97f4a7c15);
  };
  auto value = [this](uint32_t bits) {
    return centre + spread * fraction(bits);
  };
  int64_t index = first, last = first + count;
  if (index < last && index % 2 != 0)
    *out++ = value(uint32_t(pair(index++) >> 32));
  for (; index + 1 < last; index += 2) {
    uint64_t bits = pair(index);
    *out++ = value(uint32_t(bits));
    *out++ = value(uint32_t(bits >> 32));
  }
  if (index < last)
    *out = value(uint32_t(pair(index)));
}

RandomMatrix randomMatrix(uint64_t seed, const WeightRecipe &recipe,
                          size_t source, int64_t stack) {
  const WeightSource &from = recipe.sources[source];
  RandomMatrix matrix;
  uint64_t stream = mix(seed + 1);
  auto add = [&](uint64_t part) { stream = mix(stream ^ part) + part; };
  for (char c : from.keyPattern)
    add(uint8_t(c));
  add(uint64_t(from.rowBegin));
  add(uint64_t(from.colBegin));
  add(uint64_t(stack));
  matrix.stream = stream;
  if (recipe.layout != WeightLayout::Raw) {
    matrix.spread = std::sqrt(3.0f / float(recipe.k));
  } else if (recipe.n > 1) {
    matrix.spread = std::sqrt(3.0f);
  } else if (from.keyPattern.ends_with("bias")) {
    matrix.spread = kBiasSpread;
  } else {
    matrix.centre = 1;
    matrix.spread = kNormSpread;
  }
  return matrix;
}

} // namespace mtp
