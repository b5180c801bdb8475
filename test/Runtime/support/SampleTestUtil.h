//===- SampleTestUtil.h - Picks and their probabilities ---------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_SAMPLETESTUTIL_H
#define MTP_TEST_RUNTIME_SUPPORT_SAMPLETESTUTIL_H

#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

namespace mtp::test {

inline const float kInf = std::numeric_limits<float>::infinity();
inline const float kNaN = std::numeric_limits<float>::quiet_NaN();

inline SamplingRow sampling(float temperature, int32_t topK = 0, float topP = 1,
                            float minP = 0, uint32_t seed = 0) {
  SamplingRow row = {};
  row.seedLow = seed;
  row.temperature = temperature;
  row.topK = topK;
  row.topP = topP;
  row.minP = minP;
  return row;
}

/// Returns the pick, after a check that all instruction sets agree.
inline int32_t pick(const std::vector<float> &logits, const SamplingRow &row,
                    int32_t position = 1,
                    const std::vector<int32_t> &tokens = {}) {
  std::vector<uint64_t> scratch(logits.size());
  int32_t first = sampleToken(logits, tokens, row, position, scratch);
  for (const SampleKernels *kernels : sampleKernels())
    EXPECT_EQ(sampleToken(logits, tokens, row, position, scratch, *kernels),
              first)
        << kernels->name;
  return first;
}

struct Candidate {
  float logit;
  uint32_t token;

  float distance(float best, const SamplingRow &row) const {
    float distance =
        (best - logit) *
        std::min(1.0f / row.temperature, std::numeric_limits<float>::max());
    return distance < kFarDistance ? distance : kFarDistance;
  }
};

/// Applies min-p and top-p to the sorted candidates, after top-k.
inline void applyShares(std::vector<Candidate> &kept, const SamplingRow &row) {
  std::vector<uint64_t> weights;
  for (const Candidate &c : kept)
    weights.push_back(weightOf(c.distance(kept[0].logit, row)));
  using Wide = unsigned __int128;
  Wide total = std::accumulate(weights.begin(), weights.end(), Wide(0));
  Wide units = Wide(double(row.topP) * 0x1p32), sum = 0;
  size_t count = 0;
  if (row.topP < 1) {
    while (count < kept.size() && (count == 0 || sum << 32 < total * units))
      sum += weights[count++];
    kept.resize(count);
  }
  std::vector<Candidate> likely;
  for (size_t i = 0; i < kept.size(); ++i)
    if (i == 0 || double(weights[i]) >= double(row.minP) * 0x1p40)
      likely.push_back(kept[i]);
  kept = likely;
}

/// Returns the pick by sorting everything: no buckets, no blocks, no vectors.
inline int32_t plainPick(const std::vector<float> &logits,
                         const SamplingRow &row, int32_t position,
                         const std::vector<int32_t> &tokens = {}) {
  std::vector<Candidate> kept;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -kInf)
      kept.push_back({logits[i], uint32_t(tokens.empty() ? i : tokens[i])});
  if (kept.empty())
    return -1;
  std::sort(kept.begin(), kept.end(), [](Candidate a, Candidate b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  });
  if (row.topK > 0 && size_t(row.topK) < kept.size())
    kept.resize(size_t(row.topK));
  applyShares(kept, row);
  std::pair<float, int64_t> best = {-kInf, 0};
  for (const Candidate &c : kept) {
    auto words = philox4x32({uint32_t(position), 1, c.token / 4, 0},
                            {row.seedLow, row.seedHigh});
    float key =
        gumbelNoise(words[c.token % 4]) - c.distance(kept[0].logit, row);
    best = std::max(best, {key, -int64_t(c.token)});
  }
  return int32_t(-best.second);
}

/// Returns Pearson's statistic of `draws` picks against `expected`
/// probabilities.
inline double chiSquare(const std::vector<float> &logits,
                        const SamplingRow &row,
                        const std::vector<double> &expected, int draws) {
  std::vector<int> counts(logits.size(), 0);
  for (int position = 0; position < draws; ++position)
    ++counts[size_t(pick(logits, row, position))];
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    double mean = expected[i] * draws;
    if (mean == 0)
      EXPECT_EQ(counts[i], 0) << "token " << i;
    else
      sum += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  return sum;
}

/// Returns the softmax at a temperature over the tokens that `keep` accepts.
template <typename Keep>
std::vector<double> softmax(const std::vector<float> &logits,
                            double temperature, Keep keep) {
  std::vector<double> p(logits.size(), 0);
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    if (keep(i))
      sum += p[i] = std::exp(logits[i] / temperature);
  for (double &value : p)
    value /= sum;
  return p;
}

inline const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.5f,
                                           0.0f, 1.0f, -0.5f, 0.25f};
/// A chi-square value with 7 degrees of freedom exceeds this once in a million.
inline const double kCritical = 41.9;

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_SAMPLETESTUTIL_H
