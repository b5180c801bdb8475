//===- SampleKeys_test.cpp - Keys of tokens for sampling ------------------===//
//
// Keys equal the keys of the runtime's sampler, to the bit and on every target.
// The largest key belongs to the token that the sampler picks, also after
// earlier picks are excluded. Logarithms are compared with double precision.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::codegen::test;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

static constexpr float kInf = INFINITY;

namespace {
/// Sampling parameters of each slot. The rows of a test differ by them.
const std::vector<SamplingRow> laws = {
    {1, 2, 1.0f, 0, 1.0f, 0.0f, 0, 0},  {9, 2, 0.0f, 3, 0.5f, 0.0f, 0, 0},
    {1, 7, 0.7f, 5, 1.0f, 0.0f, 0, 0},  {5, 2, 1.5f, 0, 0.8f, 0.0f, 0, 0},
    {1, 2, 1.0f, 9, 0.6f, 0.05f, 0, 0}, {3, 2, 3.0f, 0, 1.0f, 0.1f, 0, 0},
};
const int lawCount = laws.size();

/// Rows: first one for each law, then others without a distribution.
struct Rows {
  Rows(int width, int rows, bool isMapped, bool isNumbered);

  int width, rows;
  bool isMapped, isNumbered;
  Floats x, p;
  Ints tokens, slots, positions, numbers;
};

struct Keys {
  Floats keys, sums;
};

/// A width, whether columns are mapped to tokens, and whether rows have
/// numbers.
using Case = std::tuple<int, bool, bool>;
class SampleKeysOf : public testing::TestWithParam<Case> {};
} // namespace

Rows::Rows(int width, int rows, bool isMapped, bool isNumbered)
    : width(width), rows(rows), isMapped(isMapped), isNumbered(isNumbered),
      x(randomFloats(size_t(rows) * width, 3, 5.0f)) {
  for (int i = 0; i < width; ++i)
    tokens.push_back(isMapped ? 3 * i + 1 : i);
  for (int row = 0; row < rows; ++row) {
    slots.push_back(row % lawCount);
    positions.push_back(row * 13 - 1);
    numbers.push_back(row % 4 - 1);
  }
  std::fill_n(&x[(rows - 1) * width], width, NAN);
  x[(rows - 2) * width + width / 2] = kInf;
  x[(rows - 3) * width] = NAN;
}

static std::string configOf(const Rows &rows) {
  return "width = " + std::to_string(rows.width) +
         ", slots = " + std::to_string(lawCount) +
         (rows.isMapped ? ", mapped = true" : "") +
         (rows.isNumbered ? ", numbered = true" : "");
}

/// Returns the distributions after the filters, from the kernel that precedes
/// the keys.
static Floats distributionsOf(const TestTarget &target, const Rows &rows) {
  Kernel kernel(target, "probabilities",
                "width = " + std::to_string(rows.width) +
                    ", slots = " + std::to_string(lawCount));
  Guarded<float> x(rows.x), p(rows.x.size());
  Guarded<int32_t> slots(rows.slots);
  Guarded<SamplingRow> sampling(laws);
  kernel.run({x.data(), slots.data(), sampling.data(), p.data()},
             {rows.rows, rows.rows}, Split::Random);
  return p.values();
}

template <typename T>
static std::vector<T> part(const std::vector<T> &all, int each, int first,
                           int count) {
  return {all.begin() + size_t(first) * each,
          all.begin() + size_t(first + count) * each};
}

static Keys runKeys(const Kernel &kernel, const Rows &rows, const Floats &p,
                    int first, int count, Split split) {
  int width = rows.width;
  Guarded<float> x(part(rows.x, width, first, count)),
      share(part(p, width, first, count)), keys(size_t(count) * width),
      sums(count);
  Guarded<int32_t> tokens(rows.tokens),
      slots(part(rows.slots, 1, first, count)),
      positions(part(rows.positions, 1, first, count)),
      numbers(part(rows.numbers, 1, first, count));
  Guarded<SamplingRow> sampling(laws);
  std::vector<void *> buffers{x.data(), share.data()};
  if (rows.isMapped)
    buffers.push_back(tokens.data());
  buffers.insert(buffers.end(), {slots.data(), positions.data()});
  if (rows.isNumbered)
    buffers.push_back(numbers.data());
  buffers.insert(buffers.end(), {sampling.data(), keys.data(), sums.data()});
  kernel.run(buffers, {count}, split);
  return {keys.values(), sums.values()};
}

/// Returns the largest number, or NaN.
static float bestOf(const float *x, int width) {
  float best = NAN;
  for (int i = 0; i < width; ++i)
    if (!(x[i] <= best) && !std::isnan(x[i]))
      best = x[i];
  return best;
}

/// Returns the key of a token, as SampleMath.h defines it.
static float keyOf(const SamplingRow &law, int32_t position, int32_t number,
                   int32_t token, float best, float logit) {
  float distance = (best - logit) * (1.0f / law.temperature);
  auto words = philox4x32({uint32_t(position + 1), kSamplePurpose,
                           uint32_t(token) >> 2, uint32_t(number + 1)},
                          {law.seedLow, law.seedHigh});
  return gumbelNoise(words[token & 3]) - std::max(distance, 0.0f);
}

static double logSumOf(const float *x, int width) {
  double best = bestOf(x, width), sum = 0;
  if (std::isnan(best))
    return -INFINITY;
  if (std::isinf(best))
    return best;
  for (int i = 0; i < width; ++i)
    sum += std::isnan(x[i]) ? 0 : std::exp(x[i] - best);
  return best + std::log(sum);
}

static void expectNear(double got, double want) {
  if (std::isinf(want))
    EXPECT_EQ(got, want);
  else
    EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::fabs(want)));
}

/// Checks a row that is drawn.
static void expectDrawn(const Rows &rows, int row, const float *p,
                        const float *keys, float sum) {
  const float *x = &rows.x[size_t(row) * rows.width];
  const SamplingRow &law = laws[rows.slots[row]];
  float best = bestOf(x, rows.width);
  for (int i = 0; i < rows.width; ++i) {
    float want = p[i] > 0 ? keyOf(law, rows.positions[row],
                                  rows.isNumbered ? rows.numbers[row] : -1,
                                  rows.tokens[i], best, x[i])
                          : -kInf;
    ASSERT_EQ(std::bit_cast<uint32_t>(keys[i]), std::bit_cast<uint32_t>(want))
        << i << " " << keys[i] << " " << want;
    if (p[i] == *std::max_element(p, p + rows.width))
      expectNear(sum, -std::log(double(p[i])));
  }
}

static std::string nameOf(const testing::TestParamInfo<Case> &info) {
  auto [width, isMapped, isNumbered] = info.param;
  return std::to_string(width) + (isMapped ? "_mapped" : "") +
         (isNumbered ? "_numbered" : "");
}

INSTANTIATE_TEST_SUITE_P(Widths, SampleKeysOf,
                         testing::Combine(testing::Values(1, 37, 300),
                                          testing::Bool(), testing::Bool()),
                         nameOf);

TEST_P(SampleKeysOf, AreThoseOfTheSampler) {
  auto [width, isMapped, isNumbered] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Rows rows(width, lawCount + 4, isMapped, isNumbered);
    Kernel kernel(target, "sample_keys", configOf(rows));
    Floats p = distributionsOf(target, rows);
    auto run = [&](int first, int count, Split split) {
      return runKeys(kernel, rows, p, first, count, split).keys;
    };
    expectRowInvariant(rows.rows, width, run, target.isGpu ? 5 : 2);
    Keys got = runKeys(kernel, rows, p, 0, rows.rows, Split::Random);
    for (int row = 0; row < rows.rows; ++row) {
      SCOPED_TRACE(testing::Message() << "row " << row);
      const float *x = &rows.x[row * width], *keys = &got.keys[row * width];
      float best = bestOf(x, width);
      if (laws[rows.slots[row]].temperature > 0 && best < kInf) {
        expectDrawn(rows, row, &p[row * width], keys, got.sums[row]);
        continue;
      }
      EXPECT_EQ(std::memcmp(keys, x, width * 4), 0);
      expectNear(got.sums[row], logSumOf(x, width));
    }
  }
}

/// The best keys of a row, one after another, are the tokens that the sampler
/// picks from the row without the earlier picks, if no filter compares tokens.
TEST(SampleKeys, BestOnesAreWhatSamplingPicksInTurn) {
  const int width = 300, k = 6;
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Rows rows(width, lawCount + 3, /*isMapped=*/false, /*isNumbered=*/false);
    Floats p = distributionsOf(target, rows);
    Kernel keyed(target, "sample_keys", configOf(rows));
    Keys keys = runKeys(keyed, rows, p, 0, rows.rows, Split::Whole);
    Kernel best(target, "top_k", "width = 300, k = 6, summed = true");
    Guarded<float> x(keys.keys), sums(keys.sums), logs(rows.rows * k);
    Guarded<int32_t> columns(rows.rows * k);
    best.run({x.data(), sums.data(), columns.data(), logs.data()}, {rows.rows},
             Split::Random);
    for (int row = 0; row < rows.rows; ++row) {
      SCOPED_TRACE(testing::Message() << "row " << row);
      SamplingRow law = laws[rows.slots[row]];
      Floats own = part(rows.x, width, row, 1);
      std::vector<uint64_t> scratch(width);
      for (int i = 0; i < k; ++i) {
        int32_t column = columns[row * k + i];
        // After the first pick, filters that compare tokens may have dropped
        // others.
        if (i == 0 || (law.topK <= 0 && law.topP >= 1 && law.minP <= 0)) {
          EXPECT_EQ(column, sampleToken(own, {}, law, rows.positions[row] + 1,
                                        scratch));
        }
        if (column < 0)
          break;
        float log = logs[row * k + i], key = keys.keys[row * width + column];
        EXPECT_EQ(log, key == keys.sums[row] ? 0 : key - keys.sums[row]);
        EXPECT_GT(p[row * width + column] + (law.temperature <= 0), 0);
        own[column] = -kInf;
      }
    }
  }
}
