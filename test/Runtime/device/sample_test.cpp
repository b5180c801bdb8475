//===- sample_test.cpp - Random numbers and picks -------------------------===//

#include "test/Runtime/support/SampleTestUtil.h"

#include <array>
#include <random>

using namespace mtp;
using namespace mtp::test;

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
  for (int step = 0; float(step) * 1e-3f < kFarDistance; ++step) {
    float d = float(step) * 1e-3f;
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
