//===- sample_rows_test.cpp - Picks of kernels over rows of logits --------===//

#include "runtime/device/cpu/Builtins.h"
#include "support/SampleTestUtil.h"

#include <random>
#include <span>
#include <string>

using namespace mtp;
using namespace mtp::test;

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
