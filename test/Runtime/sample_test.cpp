//===- sample_test.cpp - Random numbers and picks -------------------------===//

#include "runtime/device/cpu/Builtins.h"
#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace mtp;

namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

SamplingRow sampling(float temperature, int32_t topK = 0, float topP = 1,
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
int32_t pick(const std::vector<float> &logits, const SamplingRow &row,
             int32_t position = 1, const std::vector<int32_t> &tokens = {}) {
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
void applyShares(std::vector<Candidate> &kept, const SamplingRow &row) {
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
int32_t plainPick(const std::vector<float> &logits, const SamplingRow &row,
                  int32_t position, const std::vector<int32_t> &tokens = {}) {
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
double chiSquare(const std::vector<float> &logits, const SamplingRow &row,
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

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.5f,
                                    0.0f, 1.0f, -0.5f, 0.25f};
/// A chi-square value with 7 degrees of freedom exceeds this once in a million.
const double kCritical = 41.9;

} // namespace

TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Sample, GreedyTakesTheFirstOfTheLargest) {
  EXPECT_EQ(pick({1, 3, 2, 3}, sampling(0)), 1);
  EXPECT_EQ(pick({kNaN, -5, kNaN}, sampling(0)), 1);
  EXPECT_EQ(pick({-kInf, -kInf, -3}, sampling(0)), 2);
  EXPECT_EQ(pick({1, kInf, kInf}, sampling(0)), 1);
}

TEST(Sample, NothingCanWin) {
  for (float temperature : {0.0f, 1.0f}) {
    EXPECT_EQ(pick({kNaN, kNaN}, sampling(temperature)), -1);
    EXPECT_EQ(pick({-kInf, -kInf}, sampling(temperature)), -1);
  }
}

TEST(Sample, NaNAndInfinityNeverWinByChance) {
  for (int32_t position = 0; position < 200; ++position) {
    int32_t token =
        pick({kNaN, 0, -kInf, 0, kNaN}, sampling(2, 3, 0.99f), position);
    EXPECT_TRUE(token == 1 || token == 3);
    EXPECT_EQ(pick({0, kInf, 5}, sampling(1), position), 1);
  }
}

TEST(Sample, DrawsFromTheSoftmax) {
  auto all = [](size_t) { return true; };
  for (float temperature : {0.5f, 1.0f, 2.0f})
    EXPECT_LT(chiSquare(kLogits, sampling(temperature),
                        softmax(kLogits, temperature, all), 100000),
              kCritical);
  // The test would detect a wrong temperature.
  EXPECT_GT(chiSquare(kLogits, sampling(1), softmax(kLogits, 1.1, all), 100000),
            kCritical);
}

TEST(Sample, TopKKeepsTheLikeliest) {
  auto best3 = [](size_t i) { return i == 1 || i == 3 || i == 5; };
  EXPECT_LT(
      chiSquare(kLogits, sampling(1, 3), softmax(kLogits, 1, best3), 50000),
      kCritical);
}

TEST(Sample, TopKCutsEqualsByIndex) {
  auto first2 = [](size_t i) { return i < 2; };
  std::vector<float> flat(8, 1.0f);
  EXPECT_LT(chiSquare(flat, sampling(1, 2), softmax(flat, 1, first2), 50000),
            kCritical);
}

TEST(Sample, TopPKeepsTheShortestPrefixThatReachesIt) {
  std::vector<float> logits;
  for (double p : {0.1, 0.4, 0.2, 0.3})
    logits.push_back(float(std::log(p)));
  auto two = [](size_t i) { return i == 1 || i == 3; };
  auto three = [](size_t i) { return i != 0; };
  EXPECT_LT(
      chiSquare(logits, sampling(1, 0, 0.65f), softmax(logits, 1, two), 50000),
      kCritical);
  EXPECT_LT(chiSquare(logits, sampling(1, 0, 0.75f), softmax(logits, 1, three),
                      50000),
            kCritical);
  // The best three have 4/9, 3/9, 2/9, so two of them reach 0.7.
  EXPECT_LT(
      chiSquare(logits, sampling(1, 3, 0.7f), softmax(logits, 1, two), 50000),
      kCritical);
  EXPECT_EQ(pick(logits, sampling(1, 0, 1e-6f)), 1);
}

TEST(Sample, MinPIsRelativeToTheLikeliest) {
  auto keep = [](size_t i) { return std::exp(kLogits[i] - 2.0) >= 0.3; };
  EXPECT_LT(chiSquare(kLogits, sampling(1, 0, 1, 0.3f),
                      softmax(kLogits, 1, keep), 50000),
            kCritical);
}

namespace {
/// Returns the softmax after filters, in double and by sorting.
std::vector<double> filteredSoftmax(const std::vector<float> &logits,
                                    const SamplingRow &row) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (row.topK > 0)
    order.resize(std::min(order.size(), size_t(row.topK)));
  double sum = 0, total = 0, temperature = row.temperature;
  auto weight = [&](size_t i) {
    return std::exp((double(logits[i]) - logits[order[0]]) / temperature);
  };
  for (size_t i : order)
    total += weight(i);
  std::vector<double> p(logits.size(), 0);
  double kept = 0;
  for (size_t i : order) {
    if (sum >= total * row.topP)
      break;
    sum += weight(i);
    kept += p[i] = weight(i) >= row.minP ? weight(i) : 0;
  }
  for (double &value : p)
    value /= kept;
  return p;
}

/// Returns how many standard deviations Pearson's statistic is above its mean,
/// by Wilson and Hilferty's cube root. Rare tokens are counted together.
double deviation(const std::vector<float> &logits, const SamplingRow &row,
                 const std::vector<double> &expected, int draws) {
  std::vector<size_t> order(logits.size()), cellOf(logits.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return expected[a] > expected[b]; });
  std::vector<double> means(1, 0);
  for (size_t i : order) {
    if (means.back() > 30)
      means.push_back(0);
    cellOf[i] = means.size() - 1;
    means.back() += expected[i] * draws;
  }
  std::vector<int> counts(means.size(), 0);
  std::vector<uint64_t> scratch(logits.size());
  for (int position = 0; position < draws; ++position) {
    size_t token = size_t(sampleToken(logits, {}, row, position, scratch));
    EXPECT_GT(expected[token], 0) << "token " << token;
    ++counts[cellOf[token]];
  }
  double sum = 0, freedom = double(means.size()) - 1;
  for (size_t i = 0; i < means.size(); ++i)
    if (means[i] > 0)
      sum += (counts[i] - means[i]) * (counts[i] - means[i]) / means[i];
  if (freedom < 1)
    return 0;
  double spread = 2 / (9 * freedom);
  return (std::cbrt(sum / freedom) - (1 - spread)) / std::sqrt(spread);
}
} // namespace

TEST(Sample, DrawsFromManyLaws) {
  std::mt19937 random(19);
  std::normal_distribution<float> normal;
  int laws = 0;
  for (size_t vocab : {7, 61, 1000, 20001}) {
    std::vector<float> logits(vocab);
    for (float &x : logits)
      x = 1.5f * normal(random);
    int32_t half = int32_t(vocab / 2);
    for (float temperature : {0.1f, 0.5f, 1.0f, 2.0f, 5.0f})
      for (SamplingRow row :
           {sampling(temperature), sampling(temperature, half),
            sampling(temperature, 0, 0.9f), sampling(temperature, 0, 1, 0.02f),
            sampling(temperature, half, 0.8f, 0.03f)}) {
        row.seedLow = uint32_t(random());
        EXPECT_LT(deviation(logits, row, filteredSoftmax(logits, row),
                            vocab > 1000 ? 1000 : 10000),
                  4.5)
            << vocab << " tokens, T " << temperature << ", top-k " << row.topK
            << ", top-p " << row.topP << ", min-p " << row.minP;
        ++laws;
      }
  }
  EXPECT_EQ(laws, 100);
  // The test would detect a temperature that is slightly off.
  std::vector<float> logits(1000);
  for (float &x : logits)
    x = 1.5f * normal(random);
  EXPECT_GT(deviation(logits, sampling(1),
                      filteredSoftmax(logits, sampling(1.1f)), 20000),
            4.5);
}

// Compares picks with the definition, which has no lanes, buckets or blocks:
// over rows of all lengths and shapes, filters, seeds and maps.
TEST(Sample, EqualsThePlainDefinition) {
  std::mt19937 random(7);
  auto among = [&](std::initializer_list<float> values) {
    return values.begin()[random() % values.size()];
  };
  std::normal_distribution<float> normal;
  for (int round = 0; round < 4000; ++round) {
    size_t vocab = 1 + random() % (round % 50 == 0 ? 3000 : 300);
    float spread = among({0, 1e-3f, 0.3f, 1, 5, 30}), grain = among({0, 0.5f});
    std::vector<float> logits(vocab);
    for (float &x : logits) {
      x = among({0, 0, 20, -1e30f}) + spread * normal(random);
      x = grain > 0 ? std::round(x / grain) * grain : x;
      if (random() % 16 == 0)
        x = among({kNaN, -kInf, 0.0f, -0.0f});
    }
    std::vector<int32_t> tokens;
    if (random() % 2)
      for (size_t i = 0; i < vocab; ++i)
        tokens.push_back(int32_t(i * 7 + random() % 7));
    if (random() % 2)
      std::shuffle(tokens.begin(), tokens.end(), random);
    SamplingRow row =
        sampling(among({1e-40f, 0.1f, 0.5f, 1, 2, 5, 1e30f}),
                 int32_t(among({0, 0, 1, 2, 40, 1000})),
                 among({1, 1, 1e-12f, 0.3f, 0.9f, 0.95f, 0.999999f}),
                 among({0, 0, 1e-13f, 0.05f, 0.5f, 1}), uint32_t(random()));
    row.seedHigh = uint32_t(random());
    int32_t position = int32_t(random() >> 1);
    ASSERT_EQ(pick(logits, row, position, tokens),
              plainPick(logits, row, position, tokens))
        << "round " << round << ", " << vocab << " tokens, T "
        << row.temperature << ", top-k " << row.topK << ", top-p " << row.topP
        << ", min-p " << row.minP;
  }
}

TEST(Sample, EqualsThePlainDefinitionInALargeVocabulary) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> logits(129281);
  for (float scale : {0.0f, 1.0f, 4.0f}) {
    for (float &x : logits)
      x = scale * normal(random);
    for (const SamplingRow &row :
         {sampling(1), sampling(1, 50), sampling(1, 70000, 0.9f, 0.001f),
          sampling(0.7f, 0, 0.95f), sampling(5, 0, 0.5f),
          sampling(1, 0, 1, 0.05f)})
      for (int32_t position : {1, 77})
        ASSERT_EQ(pick(logits, row, position), plainPick(logits, row, position))
            << "scale " << scale << ", top-k " << row.topK << ", top-p "
            << row.topP << ", min-p " << row.minP;
  }
}

// The scans of any parts of a row add up to the scan of the whole row; threads
// rely on it.
TEST(Sample, PartsOfARowAddUp) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> logits(5003);
  for (float &x : logits)
    x = 2 * normal(random);
  SampleLaw law = {};
  law.best = *std::max_element(logits.begin(), logits.end());
  law.perTemperature = 1.25f;
  law.seedLow = 5;
  law.position = 9;
  law.leastWeight = kFullWeight >> 9;
  law.bestPick = packPick(-1, 17);
  for (const SampleKernels *kernels : sampleKernels())
    for (bool usesBuckets : {false, true}) {
      law.usesBuckets = usesBuckets;
      const SampleInput input = {logits, {}};
      SampleBucket whole[kSampleBuckets] = {}, parts[kSampleBuckets] = {};
      uint64_t pick = kernels->scan(law, input, 0, logits.size(), whole);
      uint64_t ofParts = 0;
      for (size_t i = 0; i < logits.size(); i += 17 * kSampleLanes)
        ofParts = std::max(
            ofParts,
            kernels->scan(law, input, i,
                          std::min(logits.size(), i + 17 * kSampleLanes),
                          parts));
      EXPECT_EQ(pick, ofParts);
      for (int i = 0; i < kFarBucket; ++i) {
        EXPECT_EQ(whole[i].weight, parts[i].weight);
        EXPECT_EQ(whole[i].count, parts[i].count);
        EXPECT_EQ(whole[i].pick, parts[i].pick);
      }
    }
}

// A drafter with a part of the vocabulary uses the target's noise. If the
// target's token is in the part, and all other tokens are masked, both pick it.
TEST(Sample, NoiseBelongsToTheToken) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<int32_t> tokens(150);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = int32_t((i * 577) % 1009);
  std::vector<float> part(tokens.size()), all(1009, -kInf);
  for (int32_t position = 0; position < 100; ++position) {
    for (size_t i = 0; i < tokens.size(); ++i)
      all[size_t(tokens[i])] = part[i] = normal(random);
    for (const SamplingRow &row :
         {sampling(0), sampling(1), sampling(0.8f, 20, 0.9f, 0.01f)})
      EXPECT_EQ(pick(part, row, position, tokens), pick(all, row, position));
  }
  // Among equals the lowest token wins, not the first column.
  EXPECT_EQ(pick({1, 3, 3, 3}, sampling(0), 1, {9, 8, 4, 6}), 4);
}

// These values are fixed forever: a seed gives the same text in every version.
TEST(Sample, NoiseNeverChanges) {
  const std::pair<uint32_t, float> noise[] = {
      {0u, -0x1.90a3aap+1f},         {1u, -0x1.8a56ccp+1f},
      {2u, -0x1.874ceep+1f},         {1000u, -0x1.5cef3cp+1f},
      {123456789u, -0x1.4449e8p+0f}, {2147483647u, 0x1.774f2ap-2f},
      {2147483648u, 0x1.774f2ap-2f}, {2147483649u, 0x1.774f2ap-2f},
      {3000000000u, 0x1.065ffap+0f}, {3735928559u, 0x1.f8564cp+0f},
      {4294901760u, 0x1.62e43p+3f},  {4294967294u, 0x1.5c6766p+4f},
      {4294967295u, 0x1.6dfb52p+4f}};
  for (auto [word, expected] : noise)
    EXPECT_EQ(gumbelNoise(word), expected) << word;
  const std::pair<float, uint64_t> weights[] = {{0, 1099511627776},
                                                {0x1p-30f, 1099511627776},
                                                {0x1p-10f, 1098438410240},
                                                {0.3f, 814538227712},
                                                {0.34657359f, 777472114688},
                                                {0.6931472f, 549755813888},
                                                {1, 404487733248},
                                                {2.5f, 90253410304},
                                                {7.25f, 780844992},
                                                {13, 2485258},
                                                {20.5f, 1374},
                                                {27.5f, 1},
                                                {27.9f, 0},
                                                {28, 0}};
  for (auto [distance, expected] : weights)
    EXPECT_EQ(weightOf(distance), expected) << distance;
}

TEST(Sample, PicksNeverChange) {
  std::vector<float> logits(1003);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = float(i * i * 7919 % 4093) / 512;
  const struct {
    uint32_t seedLow, seedHigh;
    int32_t position;
    float temperature;
    int32_t topK;
    float topP, minP;
    int32_t token;
  } golden[] = {{3609267711u, 1u, 1, 0.25f, 40, 0.95f, 0, 174},
                {0u, 1u, 1, 1, 40, 0.5f, 0, 528},
                {0u, 596001514u, 0, 5, 40, 1, 0.5f, 291},
                {1u, 4294967295u, 1, 1, 0, 1, 0, 842},
                {4294967295u, 1u, 3833, 0.7f, 0, 0.5f, 0.05f, 408},
                {4294967295u, 4294967295u, 1455, 1, 40, 0.95f, 0, 395},
                {1u, 4294967295u, 0, 5, 40, 1, 0.5f, 528},
                {1572750345u, 0u, 1, 2, 5, 1, 0.5f, 985},
                {3992839190u, 4294967295u, 3656, 0.25f, 0, 1, 0, 985},
                {157331433u, 0u, 853, 5, 0, 0.95f, 0.05f, 264},
                {4294967295u, 1u, 1, 0.7f, 40, 0.95f, 0, 355},
                {347712949u, 1u, 3033, 2, 5, 1, 0, 816},
                {0u, 3443122520u, 1, 2, 5, 0.5f, 0, 463},
                {725080087u, 1u, 1814052237, 0.7f, 0, 0.5f, 0, 929},
                {4191920603u, 4123732732u, 2821, 2, 0, 0.5f, 0, 355},
                {1u, 483443025u, 1, 5, 40, 0.95f, 0.5f, 569},
                {4294967295u, 4294967295u, 258, 5, 40, 1, 0, 395},
                {4294967295u, 3587296208u, 1084, 0.25f, 0, 0.95f, 0.05f, 303},
                {4294967295u, 4294967295u, 1896, 2, 0, 1, 0.5f, 421},
                {1u, 3736240358u, 3998, 2, 40, 0.95f, 0.5f, 109},
                {4294967295u, 4026023684u, 0, 0.25f, 0, 1, 0, 606},
                {4294967295u, 0u, 343646915, 5, 0, 0.5f, 0.05f, 275},
                {0u, 4236849488u, 1, 0.25f, 0, 1, 0, 696},
                {1u, 1u, 76574008, 1, 0, 1, 0.05f, 211}};
  for (const auto &g : golden) {
    SamplingRow row =
        sampling(g.temperature, g.topK, g.topP, g.minP, g.seedLow);
    row.seedHigh = g.seedHigh;
    EXPECT_EQ(pick(logits, row, g.position), g.token)
        << "seed " << g.seedLow << ", " << g.seedHigh << " at " << g.position;
  }
}

// Compares the polynomials with the library's functions in double.
TEST(Sample, NoiseAndWeightsAreAccurate) {
  auto check = [](uint32_t word) {
    double near1 = (double(~word) + 0.5) * 0x1p-32;
    double near0 = (double(word) + 0.5) * 0x1p-32;
    double exponential = word >> 31 ? -std::log1p(-near1) : -std::log(near0);
    ASSERT_NEAR(gumbelNoise(word), -std::log(exponential), 2e-6) << word;
    ASSERT_LE(gumbelNoise(word), kMaxNoise);
    ASSERT_GE(word, leastWordOf(gumbelNoise(word))) << word;
  };
  for (uint32_t i = 0; i < 3000; ++i) {
    check(i);
    check(~i);
    check((1u << 31) - 1500 + i);
  }
  for (uint64_t word = 0; word < uint64_t(1) << 32; word += 4001)
    check(uint32_t(word));
  uint64_t before = kFullWeight;
  for (float d = 0; d < kFarDistance; d += 1e-3f) {
    double expected = std::exp(-double(d)) * 0x1p40;
    ASSERT_NEAR(double(weightOf(d)), expected, expected * 0x1p-23 + 1) << d;
    ASSERT_LE(weightOf(d), before);
    before = weightOf(d);
  }
  EXPECT_EQ(weightOf(0), kFullWeight);
  EXPECT_EQ(weightOf(kFarDistance), 0u);
}

TEST(Sample, SeedsAndPositionsAreIndependent) {
  std::vector<float> flat(1000, 0.0f);
  int equalSeeds = 0, equalPositions = 0;
  for (int32_t position = 0; position < 2000; ++position) {
    int32_t token = pick(flat, sampling(1, 0, 1, 0, 1), position);
    equalSeeds += token == pick(flat, sampling(1, 0, 1, 0, 2), position);
    equalPositions +=
        token == pick(flat, sampling(1, 0, 1, 0, 1), position + 1);
    EXPECT_EQ(token, pick(flat, sampling(1, 0, 1, 0, 1), position));
  }
  EXPECT_LT(equalSeeds, 15); // 2 expected
  EXPECT_LT(equalPositions, 15);
}

TEST(Sample, TakesTheFirstBestPart) {
  auto best = [](std::vector<float> values, std::vector<int32_t> indices) {
    return bestOfParts(values, indices).token;
  };
  const int32_t nobody = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(best({1, 3, 3}, {4, 40, 70}), 40);
  EXPECT_EQ(best({-kInf, -kInf, -5}, {nobody, 33, 64}), 64);
  EXPECT_EQ(best({-0.0f, 0.0f}, {7, 32}), 7);
  EXPECT_EQ(best({-kInf, -kInf}, {0, nobody}), -1);
  // With a map. An index out of range counts as the nearest valid one.
  const int32_t tokens[] = {5, 50, 500};
  const float values[] = {1, 2};
  for (auto [index, token] : {std::pair(1, 50), {7, 500}, {-2, 5}}) {
    const int32_t indices[] = {0, index};
    BestLogit picked = bestOfParts(values, indices, tokens);
    EXPECT_EQ(picked.token, token);
    EXPECT_EQ(picked.logit, 2);
  }
}

namespace {
/// Rows of logits with the best of each 32, as output heads write them: a
/// greedy slot without logits, three slots that sample, and a padding row.
struct LongRows {
  static constexpr size_t kVocab = 2 * kSampleStretch + 5003, kRows = 5;
  static constexpr size_t kParts = (kVocab + 31) / 32;

  LongRows() {
    std::mt19937 random(23);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < kVocab; ++i)
      tokens.push_back(int32_t(3 * i + random() % 3));
    slots[0].skipLogits = 1;
    for (size_t row = 0; row < kRows; ++row)
      for (size_t part = 0; part < kParts; ++part) {
        values.push_back(-kInf);
        indices.push_back(0);
        for (size_t i = part * 32; i < std::min(kVocab, part * 32 + 32); ++i) {
          float x = 2 * normal(random);
          logits.push_back(row == 0 ? kNaN : x);
          if (x > values.back()) {
            values.back() = x;
            indices.back() = int32_t(i);
          }
        }
      }
  }

  /// Calls a kernel on ranges of `quota` tasks, last range first.
  void call(const std::string &name, size_t tasks, size_t quota,
            std::vector<int32_t> &output) {
    bool isMapped = name.ends_with("_mapped");
    std::vector<void *> buffers = {values.data(), indices.data(),
                                   logits.data()};
    if (isMapped)
      buffers.push_back(tokens.data());
    buffers.insert(buffers.end(), {slotOf, positions, slots});
    if (name.starts_with("mtp.sample_join"))
      buffers.push_back(buckets.data());
    buffers.push_back(output.data());
    const int64_t params[] = {kRows, kVocab, kParts, int64_t(std::size(slots))};
    std::vector<uint64_t> scratch(kVocab);
    auto kernel = findBuiltinCode(name);
    ASSERT_TRUE(kernel.isOk()) << name;
    for (size_t begin = (tasks - 1) / quota * quota;; begin -= quota) {
      (*kernel)(buffers.data(), params, int64_t(begin),
                int64_t(std::min(tasks, begin + quota)), scratch.data());
      if (begin == 0)
        break;
    }
  }

  std::vector<float> logits, values;
  std::vector<int32_t> indices, tokens;
  int32_t slotOf[kRows] = {0, 1, 2, 3, 1}, positions[kRows] = {8, 9, 3, 4, -1};
  SamplingRow slots[4] = {sampling(0), sampling(1, 0, 1, 0, 3),
                          sampling(0.9f, 3000, 0.95f, 0, 4),
                          sampling(2, 0, 0.999f, 1e-4f, 5)};
  /// Old contents of the buffer.
  std::vector<int32_t> buckets =
      std::vector<int32_t>(kRows * 3 * size_t(kSampleStretchWords), 0x5a5a5a5a);
};
} // namespace

// The distribution of a scan's tasks does not change the picks.
TEST(Sample, ThreadsShareARow) {
  for (std::string suffix : {"", "_mapped"})
    for (size_t quota : {1, 2, 4, 7, 15}) {
      LongRows rows;
      std::vector<int32_t> expected(LongRows::kRows), picks(LongRows::kRows);
      rows.call("mtp.sample_parts" + suffix, LongRows::kRows, 1, expected);
      ASSERT_EQ(sampleStretches(LongRows::kVocab), 3);
      rows.call("mtp.sample_scan" + suffix, 3 * LongRows::kRows, quota,
                rows.buckets);
      rows.call("mtp.sample_join" + suffix, LongRows::kRows, quota, picks);
      EXPECT_EQ(picks, expected) << suffix << ", " << quota << " tasks";
      EXPECT_EQ(expected[4], 0);
      std::span<const int32_t> tokens;
      if (!suffix.empty())
        tokens = rows.tokens;
      std::vector<uint64_t> scratch(LongRows::kVocab);
      for (size_t row : {1, 2, 3})
        EXPECT_EQ(
            expected[row],
            sampleToken(std::span(rows.logits)
                            .subspan(row * LongRows::kVocab, LongRows::kVocab),
                        tokens, rows.slots[rows.slotOf[row]],
                        rows.positions[row] + 1, scratch));
    }
}

// Buckets that do not match the logits give a meaningless but valid pick.
TEST(Sample, BucketsOfADamagedFileAreHarmless) {
  LongRows rows;
  std::vector<int32_t> picks(LongRows::kRows);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    for (int32_t &word : rows.buckets)
      word = seed % 2 ? int32_t(random()) : int32_t(random() % 3);
    for (float &value : rows.values)
      value = -100 + float(random() % 100);
    rows.call("mtp.sample_join", LongRows::kRows, 1, picks);
    rows.call("mtp.sample_scan", 3 * LongRows::kRows, 1, rows.buckets);
  }
}

// Rows of slots with different sampling: slot 0 is greedy without logits, slot
// 1 greedy with logits, and slot 2 samples.
TEST(Sample, PicksFromPartsWhereLogitsAreSkipped) {
  constexpr size_t vocab = 7, parts = 2, rows = 5;
  SamplingRow slots[] = {sampling(0), sampling(0), sampling(1, 3)};
  slots[0].skipLogits = 1;
  const std::vector<float> row = {0, 2, 1, 2, -1, 1.9f, 0};
  std::vector<float> logits, values;
  std::vector<int32_t> indices;
  for (size_t r = 0; r < rows; ++r) {
    logits.insert(logits.end(), row.begin(), row.end());
    values.insert(values.end(), {2, 2});
    indices.insert(indices.end(), {1, 3});
  }
  const int32_t slotOf[rows] = {2, 0, 1, 2, 0}, positions[] = {8, 9, 3, 4, -1};
  for (size_t r : {1, 4})
    std::fill_n(logits.begin() + long(r * vocab), vocab, kNaN);
  int32_t picks[rows];
  uint64_t scratch[vocab];
  void *buffers[] = {values.data(),
                     indices.data(),
                     logits.data(),
                     const_cast<int32_t *>(slotOf),
                     const_cast<int32_t *>(positions),
                     slots,
                     picks};
  const int64_t params[] = {rows, vocab, parts, std::size(slots)};
  auto kernel = findBuiltinCode("mtp.sample_parts");
  ASSERT_TRUE(kernel.isOk());
  (*kernel)(buffers, params, 0, rows, scratch);
  for (size_t r : {0, 3})
    EXPECT_EQ(picks[r], pick(row, slots[2], positions[r] + 1)) << "row " << r;
  EXPECT_TRUE(picks[0] != 1 || picks[3] != 1) << "nothing was sampled";
  EXPECT_EQ(picks[1], 1);
  EXPECT_EQ(picks[2], 1);
  EXPECT_EQ(picks[4], 0);
}

// A part of the vocabulary that has the overall winner picks the same token:
// noise belongs to the token, not to the column.
TEST(Sample, AMapGivesTheNoiseOfItsTokens) {
  constexpr size_t vocab = 96;
  std::vector<float> logits(vocab, 1);
  std::vector<int32_t> tokens;
  std::vector<float> part;
  for (int32_t token = 1; token < int32_t(vocab); token += 3) {
    tokens.push_back(token);
    part.push_back(logits[size_t(token)]);
  }
  int inPart = 0, otherColumn = 0;
  for (int32_t position = 0; position < 300; ++position) {
    SamplingRow row = sampling(1, 0, 1, 0, 7);
    int32_t whole = pick(logits, row, position);
    std::vector<uint64_t> scratch(part.size());
    int32_t picked = sampleToken(part, tokens, row, position, scratch);
    EXPECT_EQ(picked % 3, 1);
    if (whole % 3 != 1)
      continue;
    ++inPart;
    EXPECT_EQ(picked, whole) << "position " << position;
    otherColumn += tokens[size_t(pick(part, row, position))] != whole;
  }
  EXPECT_GT(inPart, 60);
  EXPECT_GT(otherColumn, 0) << "the map changes nothing";
  EXPECT_EQ(sampleToken(part, tokens, sampling(0), 1, {}), 1);
}

TEST(Sample, MappedKernelsPickTokens) {
  constexpr size_t vocab = 4, rows = 3;
  const std::vector<float> logits = {0, 3, 1, 2};
  std::vector<float> all;
  for (size_t r = 0; r < rows; ++r)
    all.insert(all.end(), logits.begin(), logits.end());
  int32_t tokens[] = {2, 30, 31, 77};
  int32_t slotOf[rows] = {0, 1, 0}, positions[rows] = {5, 6, -1};
  SamplingRow slots[] = {sampling(0), sampling(2, 0, 1, 0, 3)};
  int32_t picks[rows];
  uint64_t scratch[vocab];
  int32_t expected = sampleToken(logits, tokens, slots[1], 7, scratch);
  {
    void *buffers[] = {all.data(), tokens, slotOf, positions, slots, picks};
    const int64_t params[] = {rows, vocab, 1, std::size(slots)};
    (*findBuiltinCode("mtp.sample_mapped"))(buffers, params, 0, rows, scratch);
    EXPECT_EQ(picks[0], 30);
    EXPECT_EQ(picks[1], expected);
    EXPECT_EQ(picks[2], 0);
  }
  float values[] = {3, 2, 3, 2, 3, 2};
  int32_t winners[] = {1, 3, 1, 3, 1, 3};
  void *buffers[] = {values, winners,   all.data(), tokens,
                     slotOf, positions, slots,      picks};
  const int64_t params[] = {rows, vocab, 2, std::size(slots)};
  std::fill(picks, picks + rows, -9);
  (*findBuiltinCode("mtp.sample_parts_mapped"))(buffers, params, 0, rows,
                                                scratch);
  EXPECT_EQ(picks[0], 30);
  EXPECT_EQ(picks[1], expected);
  EXPECT_EQ(picks[2], 0);

  // Indices out of range count as the nearest valid ones.
  slotOf[0] = -5, slotOf[1] = 1 << 20, winners[0] = 1 << 30;
  (*findBuiltinCode("mtp.sample_parts_mapped"))(buffers, params, 0, rows,
                                                scratch);
  EXPECT_EQ(picks[0], 77);
  EXPECT_EQ(picks[1], expected);
}
