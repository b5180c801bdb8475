//===- sample_test.cpp - Random numbers and what is picked with them ------===//

#include "runtime/device/cpu/Builtins.h"
#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/Sample.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
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

int32_t pick(const std::vector<float> &logits, const SamplingRow &row,
             int32_t position = 1) {
  std::vector<int32_t> scratch(logits.size(), -1);
  return sampleToken(logits, {}, row, position, scratch);
}

/// Pearson's statistic of `draws` picks against `expected` probabilities.
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

/// Softmax at a temperature over the tokens for which `keep` holds.
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
/// A chi-square with 7 degrees of freedom is above this once in a million.
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
  // The test sees a wrong temperature.
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
  // Of the best three: 4/9, 3/9, 2/9, so two of them reach 0.7.
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
    return bestOfParts(values, indices);
  };
  const int32_t nobody = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(best({1, 3, 3}, {4, 40, 70}), 40);
  EXPECT_EQ(best({-kInf, -kInf, -5}, {nobody, 33, 64}), 64);
  EXPECT_EQ(best({-0.0f, 0.0f}, {7, 32}), 7);
  EXPECT_EQ(best({-kInf, -kInf}, {0, nobody}), -1);
}

// Rows side by side, each as its own slot wants it: slot 0 is greedy without
// logits, which hold nothing; slot 1 greedy with logits; slot 2 samples.
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
  int32_t picks[rows], scratch[vocab];
  void *buffers[] = {values.data(),
                     indices.data(),
                     logits.data(),
                     const_cast<int32_t *>(slotOf),
                     const_cast<int32_t *>(positions),
                     slots,
                     picks};
  const int64_t params[] = {rows, vocab, parts};
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

// A part of the vocabulary that holds the whole one's winner picks the same
// token: the noise is that of the token, not of the column.
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
    std::vector<int32_t> scratch(part.size());
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
  int32_t picks[rows], scratch[vocab];
  int32_t expected = sampleToken(logits, tokens, slots[1], 7, scratch);
  {
    void *buffers[] = {all.data(), tokens, slotOf, positions, slots, picks};
    const int64_t params[] = {rows, vocab, 1};
    (*findBuiltinCode("mtp.sample_mapped"))(buffers, params, 0, rows, scratch);
    EXPECT_EQ(picks[0], 30);
    EXPECT_EQ(picks[1], expected);
    EXPECT_EQ(picks[2], 0);
  }
  float values[] = {3, 2, 3, 2, 3, 2};
  int32_t winners[] = {1, 3, 1, 3, 1, 3};
  void *buffers[] = {values, winners,   all.data(), tokens,
                     slotOf, positions, slots,      picks};
  const int64_t params[] = {rows, vocab, 2};
  std::fill(picks, picks + rows, -9);
  (*findBuiltinCode("mtp.sample_parts_mapped"))(buffers, params, 0, rows,
                                                scratch);
  EXPECT_EQ(picks[0], 30);
  EXPECT_EQ(picks[1], expected);
  EXPECT_EQ(picks[2], 0);
}
