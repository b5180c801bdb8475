//===- ErrorFeedback.cpp - Rounding that compensates errors ---------------===//
//
// With H = R R' and R upper triangular, in the order of rounding,
//
//   e' H e = sum over k of R[k][k]^2 (e[k] + sum over i < k of a[i][k] e[i])^2
//
// where a[i][k] = R[i][k] / R[k][k]. So input k is rounded from w[k] + sum of
// a[i][k] e[i]. This is GPTQ without the inverse of H. R is the Cholesky factor
// of H with its order reversed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Quantize/ErrorFeedback.h"
#include "compiler/Quantize/Cholesky.h"
#include "compiler/Quantize/GridSearch.h"
#include "compiler/Quantize/Lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace mtp {

namespace {

using namespace lanes;

constexpr int64_t kOutputs = Grid::kOutputs;
/// The part of the mean diagonal that is added to the diagonal.
constexpr double kDamping = 0.01;
/// Inputs whose errors move later targets together.
constexpr int64_t kTogether = 128;
/// Targets that are moved at a time, and whose parts are copied at a time. Rows
/// of the parts are far apart, and would fall into few sets of a cache.
constexpr int64_t kTargets = 4, kCopied = 16;

/// Adds to `count` targets the errors of `inputs` inputs times their parts.
/// Target c takes part c of each row of `parts`.
template <int64_t count>
MTP_LANES_INLINE void moveTargets(const float *parts, int64_t pitch,
                                  const float *errors, int64_t inputs,
                                  float *targets) {
  Lanes sums[count][2];
  for (int64_t c = 0; c < count; ++c)
    for (int64_t half = 0; half < 2; ++half)
      sums[c][half] = load(targets + c * kOutputs + half * kLanes);
  for (int64_t i = 0; i < inputs; ++i) {
    const float *error = errors + i * kOutputs;
    Lanes low = load(error), high = load(error + kLanes);
    for (int64_t c = 0; c < count; ++c) {
      Lanes part = all(parts[i * pitch + c]);
      sums[c][0] += part * low;
      sums[c][1] += part * high;
    }
  }
  for (int64_t c = 0; c < count; ++c)
    for (int64_t half = 0; half < 2; ++half)
      store(sums[c][half], targets + c * kOutputs + half * kLanes);
}

} // namespace

/// Moves one target. Its parts follow each other.
MTP_LANES_CLONES void moveOne(const float *parts, const float *errors,
                              int64_t inputs, float *target) {
  moveTargets<1>(parts, 1, errors, inputs, target);
}

/// Moves `count` targets. `parts` has rows of `pitch` numbers.
MTP_LANES_CLONES void moveAll(const float *parts, int64_t pitch,
                              const float *errors, int64_t inputs,
                              float *targets, int64_t count) {
  float copy[kTogether * kCopied];
  for (int64_t first = 0; first < count; first += kCopied) {
    int64_t width = std::min(kCopied, count - first);
    for (int64_t i = 0; i < inputs; ++i)
      std::memcpy(copy + i * kCopied, parts + i * pitch + first,
                  size_t(width) * sizeof(float));
    int64_t c = 0;
    for (; c + kTargets <= width; c += kTargets)
      moveTargets<kTargets>(copy + c, kCopied, errors, inputs,
                            targets + (first + c) * kOutputs);
    for (; c < width; ++c)
      moveTargets<1>(copy + c, kCopied, errors, inputs,
                     targets + (first + c) * kOutputs);
  }
}

std::optional<ErrorFeedback> ErrorFeedback::make(std::span<const float> moments,
                                                 int64_t inputs,
                                                 unsigned threads) {
  size_t n = size_t(inputs);
  auto diagonal = [&](int32_t i) { return moments[size_t(i) * (n + 1)]; };
  double mean = 0;
  for (size_t i = 0; i < n; ++i)
    mean += diagonal(int32_t(i)) / double(n);
  if (!(mean > 0) || !std::isfinite(mean))
    return std::nullopt;
  ErrorFeedback feedback;
  std::vector<int32_t> &order = feedback.order;
  order.resize(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(-diagonal(a), a) < std::tuple(-diagonal(b), b);
  });
  // The reversed matrix: its factor is R with both indices reversed.
  std::vector<double> matrix(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j)
      matrix[i * n + j] =
          moments[size_t(order[n - 1 - i]) * n + size_t(order[n - 1 - j])];
  for (size_t i = 0; i < n; ++i)
    matrix[i * n + i] += kDamping * mean;
  if (!factorLower(matrix, inputs, threads))
    return std::nullopt;
  std::vector<double> pivots;
  for (size_t k = 0; k < n; ++k)
    pivots.push_back(matrix[(n - 1 - k) * (n + 1)]);
  feedback.parts.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = i + 1; k < n; ++k)
      feedback.parts[i * n + k] =
          float(matrix[(n - 1 - i) * n + n - 1 - k] / pivots[k]);
  return feedback;
}

void ErrorFeedback::round(const Grid &grid, std::span<const float> values,
                          GridCodes &codes) const {
  int64_t n = inputs();
  std::vector<float> targets(size_t(n * kOutputs));
  std::vector<float> errors(size_t(kTogether * kOutputs));
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(values.data() + order[size_t(i)] * kOutputs, kOutputs,
                targets.data() + i * kOutputs);
  for (int64_t first = 0; first < n; first += kTogether) {
    int64_t end = std::min(n, first + kTogether);
    for (int64_t i = first; i < end; ++i) {
      // Targets of this run have moved by the errors of earlier runs.
      float own[kTogether];
      for (int64_t j = first; j < i; ++j)
        own[j - first] = parts[size_t(j * n + i)];
      float *target = targets.data() + i * kOutputs;
      moveOne(own, errors.data(), i - first, target);
      int64_t input = order[size_t(i)];
      roundInput(grid, target, input, codes);
      for (int64_t o = 0; o < kOutputs; ++o)
        errors[size_t((i - first) * kOutputs + o)] =
            values[size_t(input * kOutputs + o)] -
            codes.valueAt(grid, input, o);
    }
    moveAll(parts.data() + first * n + end, n, errors.data(), end - first,
            targets.data() + end * kOutputs, n - end);
  }
}

std::vector<double> outputErrors(const Grid &grid, const GridCodes &codes,
                                 std::span<const float> values,
                                 std::span<const float> moments) {
  int64_t n = int64_t(values.size()) / kOutputs;
  std::vector<double> errors(size_t(n), 0), sums(size_t(kOutputs), 0);
  for (int64_t o = 0; o < kOutputs; ++o) {
    for (int64_t i = 0; i < n; ++i)
      errors[size_t(i)] =
          double(values[size_t(i * kOutputs + o)]) - codes.valueAt(grid, i, o);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        sums[size_t(o)] +=
            errors[size_t(i)] * errors[size_t(j)] * moments[size_t(i * n + j)];
  }
  return sums;
}

} // namespace mtp
