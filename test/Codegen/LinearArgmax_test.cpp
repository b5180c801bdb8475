//===- LinearArgmax_test.cpp - linear_argmax and argmax_parts -------------===//
//
// The reference is the projection that writes logits. linear_argmax must have
// the same bits, and the winners of these logits. Scalar code defines a winner.
//
//===----------------------------------------------------------------------===//

#include "harness/Projection.h"
#include "harness/Quantized.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;
using enum WeightElements;

namespace {

constexpr int slotCount = 4, words = 8, skipWord = 6;
constexpr int nobody = std::numeric_limits<int32_t>::max();
constexpr float unwritten = 12345.0f;

struct Case {
  int k, n;
  WeightElements elements;
  int group = 0;
  bool norm = false;
  /// Used only for tiles: other cases cover the vector kernels.
  bool forTiles = false;
  /// Weights in the order of tensor cores, for a GPU only.
  bool fragments = false;

  int stride() const { return rowStride(k, fragments); }
  int parts() const { return (n + 31) / 32; }
  std::string config() const {
    std::string text = "k = " + std::to_string(k) +
                       ", n = " + std::to_string(n) + ", bias = true, ";
    if (group)
      text += Quantization{elements, group}.config();
    else
      text += "format = <" + std::string(WeightFormat{elements}.name()) + ">";
    if (norm)
      text += ", norm = true, eps = 1.0e-5 : f32, offset = 1";
    if (fragments)
      text += ", fragments = true";
    return text + ", x_stride = " + std::to_string(stride());
  }
};

const Case cases[] = {{33, 47, F32},
                      {71, 90, BF16, 0, /*norm=*/true},
                      {160, 130, BF16, 0, /*norm=*/false, /*forTiles=*/true},
                      {576, 130, BF16, 0, /*norm=*/true, false,
                       /*fragments=*/true},
                      {159, 40, Int8, 128},
                      {192, 100, Int8, 64, /*norm=*/true, /*forTiles=*/true},
                      {33, 96, Int4, 32, /*norm=*/true},
                      {256, 70, Int4, 128, /*norm=*/false, /*forTiles=*/true},
                      {672, 70, Int8, 64, /*norm=*/true, false,
                       /*fragments=*/true},
                      {352, 90, Int4, 128, /*norm=*/false, false,
                       /*fragments=*/true}};

/// Rows of all kinds: random ones; zeros, whose logits are the bias, with ties,
/// -infinity and NaN; and rows of NaN, in which nothing wins.
struct Problem {
  Problem(const Case &c, int rows)
      : c(c), rows(rows), x(randomFloats(size_t(rows) * c.stride(), 1)),
        norm(randomFloats(c.k, 2, 0.3f)), bias(randomFloats(c.n, 4, 1.5f)) {
    std::vector<float> w = randomFloats(size_t(c.n) * c.k, 3, 0.2f);
    if (c.group) {
      QuantizedMatrix matrix =
          quantizeWeights(w, c.n, c.k, {c.elements, c.group});
      weights = c.fragments ? packFragments(matrix) : packQuantized(matrix);
    } else {
      weights = packWeights(w, c.n, c.k, c.elements == BF16);
      if (c.fragments)
        weights = toFragments(weights, c.k);
    }
    for (int i = 0; i < c.n; ++i)
      bias[i] = i % 7 == 6 || (i >= 32 && i < 64) ? -INFINITY
                : i % 11 == 10                    ? NAN
                                                  : std::round(bias[i]);
    for (int r = 3; r + 1 < rows; r += 5) {
      float *row = &x[size_t(r) * c.stride()];
      std::fill(row, row + c.k, 0.0f);
      std::fill(row + c.stride(), row + c.stride() + c.k, NAN);
    }
    for (int r = 0; r < rows; ++r)
      slots.push_back(r * 3 % slotCount);
    // All words of a slot but one must not matter here.
    for (int s = 0; s < slotCount; ++s)
      for (int w = 0; w < words; ++w)
        sampling.push_back(w != skipWord ? 1 + s : s < 2 ? 0 : s * 5);
  }

  bool keeps(int row) const { return slots[row] < 2; }

  Case c;
  int rows;
  std::vector<float> x, norm, bias;
  std::vector<uint8_t> weights;
  std::vector<int32_t> slots, sampling;
};

struct Outcome {
  std::vector<float> values, logits;
  std::vector<int32_t> indices;
};

/// Runs rows [first, first + count), with every buffer before a protected page.
/// `kernel` is a linear if `parts` is 0.
Outcome runRows(const Kernel &kernel, const Problem &p, int parts,
                bool hasLogits, int first, int count, Split split) {
  const Case &c = p.c;
  Guarded<float> x(
      std::vector<float>(p.x.begin() + size_t(first) * c.stride(),
                         p.x.begin() + size_t(first + count) * c.stride() - 5));
  Guarded<float> norm(p.norm), bias(p.bias);
  Guarded<uint8_t> weights(p.weights);
  Guarded<int32_t> slots(std::vector<int32_t>(p.slots.begin() + first,
                                              p.slots.begin() + first + count));
  Guarded<int32_t> sampling(p.sampling);
  Guarded<float> values(size_t(count) * parts);
  Guarded<int32_t> indices(size_t(count) * parts);
  Guarded<float> logits(std::vector<float>(size_t(count) * c.n, unwritten));
  std::vector<void *> buffers{x.data()};
  if (c.norm)
    buffers.push_back(norm.data());
  buffers.insert(buffers.end(), {weights.data(), bias.data()});
  if (parts && hasLogits)
    buffers.insert(buffers.end(), {slots.data(), sampling.data()});
  if (parts)
    buffers.insert(buffers.end(), {values.data(), indices.data()});
  if (hasLogits)
    buffers.push_back(logits.data());
  kernel.run(buffers, {count}, split);
  return {values.values(), logits.values(), indices.values()};
}

bool sameBits(const float *a, const float *b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

/// Returns the index of the best of [begin, end), or `nobody`.
int winner(const float *row, int begin, int end) {
  int best = nobody;
  for (int i = begin; i < end; ++i)
    if (!std::isnan(row[i]) && (best == nobody || row[i] > row[best]))
      best = i;
  return best;
}

void checkWinners(const Problem &problem, const Outcome &run,
                  const std::vector<float> &logits) {
  const Case &c = problem.c;
  for (int r = 0; r < problem.rows; ++r) {
    const float *row = &logits[size_t(r) * c.n];
    for (int part = 0; part < c.parts(); ++part) {
      int best = winner(row, part * 32, std::min(c.n, part * 32 + 32));
      size_t at = size_t(r) * c.parts() + part;
      ASSERT_EQ(run.indices[at], best) << "row " << r << ", part " << part;
      ASSERT_EQ(run.values[at], best == nobody ? -INFINITY : row[best]);
    }
  }
}

class LinearArgmaxOf : public testing::TestWithParam<Case> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Heads, LinearArgmaxOf, testing::ValuesIn(cases),
                         NamedByConfig());

TEST_P(LinearArgmaxOf, HasTheLogitsOfLinearAndTheirWinners) {
  const Case &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (!target.isGpu && (c.fragments || (c.forTiles && !target.tiles)))
      continue;
    SCOPED_TRACE(name);
    int rows = target.rowsOf(40);
    Problem problem(c, rows);
    Kernel linear(target, "linear", c.config());
    Kernel kernel(target, "linear_argmax", c.config() + ", logits = true");
    std::vector<float> logits =
        runRows(linear, problem, 0, true, 0, rows, Split::Whole).logits;
    Outcome all =
        runRows(kernel, problem, c.parts(), true, 0, rows, Split::Random);
    checkWinners(problem, all, logits);
    for (int r = 0; r < rows; ++r) {
      size_t at = size_t(r) * c.n;
      if (problem.keeps(r)) {
        EXPECT_TRUE(sameBits(&all.logits[at], &logits[at], c.n))
            << "logits of row " << r;
        continue;
      }
      for (int i = 0; i < c.n; ++i)
        ASSERT_EQ(all.logits[at + i], unwritten) << "row " << r;
    }
    expectRowInvariant(
        rows, 2 * c.parts(), [&](int first, int count, Split split) {
          Outcome some =
              runRows(kernel, problem, c.parts(), true, first, count, split);
          std::vector<float> both;
          for (int r = 0; r < count; ++r)
            for (int part = 0; part < c.parts(); ++part) {
              both.push_back(some.values[r * c.parts() + part]);
              both.push_back(float(some.indices[r * c.parts() + part]));
            }
          return both;
        });
  }
}

namespace {
class LinearArgmaxWithoutLogits : public LinearArgmaxOf {};
class ArgmaxPartsOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Heads, LinearArgmaxWithoutLogits,
                         testing::Values(Case{1, 1, F32}, cases[0]),
                         NamedByConfig());

// A draft's head has no logits.
TEST_P(LinearArgmaxWithoutLogits, HasTheWinnersOfLinear) {
  const Case &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    int rows = target.rowsOf(40);
    Problem problem(c, rows);
    Kernel linear(target, "linear", c.config());
    Kernel kernel(target, "linear_argmax", c.config());
    std::vector<float> logits =
        runRows(linear, problem, 0, true, 0, rows, Split::Whole).logits;
    checkWinners(
        problem,
        runRows(kernel, problem, c.parts(), false, 0, rows, Split::Random),
        logits);
  }
}

/// Returns rows of `n` logits. Every fourth row is of the same kind.
static std::vector<float> logitsOfAllKinds(int count, int n) {
  std::vector<float> x = randomFloats(size_t(count) * n, 6);
  for (int r = 0; r < count; ++r)
    for (int i = 0; i < n; ++i) {
      float &value = x[size_t(r) * n + i];
      if (r % 4 == 1) // Many ties.
        value = std::round(value);
      if (r % 4 == 2) // Few values that can win, or none.
        value = i + 1 < n || r % 8 == 2 ? NAN : value;
      if (r % 4 == 3) // -infinity beats NaN.
        value = i % 3 ? -INFINITY : NAN;
    }
  return x;
}

INSTANTIATE_TEST_SUITE_P(Widths, ArgmaxPartsOf, testing::Values(1, 33, 1000),
                         testing::PrintToStringParamName());

// Both halves of an arg-max together equal the whole arg-max.
TEST_P(ArgmaxPartsOf, PicksWhatArgmaxPicks) {
  int n = GetParam(), parts = (n + 31) / 32, count = 20;
  std::vector<float> x = logitsOfAllKinds(count, n), values;
  std::vector<int32_t> indices;
  for (int r = 0; r < count; ++r)
    for (int part = 0; part < parts; ++part) {
      const float *row = &x[size_t(r) * n];
      int best = winner(row, part * 32, std::min(n, part * 32 + 32));
      indices.push_back(best);
      values.push_back(best == nobody ? -INFINITY : row[best]);
    }
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel whole(target, "argmax", "width = " + std::to_string(n));
    Kernel ofParts(target, "argmax_parts", "parts = " + std::to_string(parts));
    Guarded<float> in(x), best(values);
    Guarded<int32_t> places(indices), want(count), got(count);
    whole.run({in.data(), want.data()}, {count}, Split::Random);
    ofParts.run({best.data(), places.data(), got.data()}, {count},
                Split::Random);
    EXPECT_EQ(got.values(), want.values());
  }
}
