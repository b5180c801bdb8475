//===- tree_test.cpp - A tree's paths are chains --------------------------===//
//
// tree.mlir runs one model over the rows of a chain and over the rows of two
// trees. The logits of each path of a tree must equal the chain with the
// path's tokens, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "harness/Generation.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr size_t kRows = 10;
constexpr size_t kNodes = 5;
constexpr size_t kVocab = 64;

/// One row per token; further rows are padding.
struct Rows {
  std::vector<int32_t> tokens = std::vector<int32_t>(kRows, 0);
  std::vector<int32_t> slots = std::vector<int32_t>(kRows, 0);
  std::vector<int32_t> positions = std::vector<int32_t>(kRows, -1);
};

Tensor column(const std::vector<int32_t> &values) {
  Tensor tensor;
  tensor.type = {ElementType::I32, {values.size()}};
  tensor.bytes.resize(values.size() * sizeof(int32_t));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

class Tree : public testing::TestWithParam<DeviceKind> {
protected:
  void SetUp() override {
    std::shared_ptr<const Model> model = loadArtifact("tree", GetParam());
    ASSERT_TRUE(model);
    // A step is one round on any device.
    auto created = Session::create(model, {.threads = 1, .roundsPerLaunch = 1});
    ASSERT_TRUE(created.isOk()) << created.status().toString();
    session = std::move(*created);
  }

  /// Returns one row of logits per row.
  std::vector<std::vector<float>> run(const char *function, const Rows &rows) {
    auto result = session->runFunction(
        function,
        {{column(rows.tokens), column(rows.slots), column(rows.positions)}});
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    std::vector<std::vector<float>> logits(kRows);
    if (!result.isOk())
      return logits;
    EXPECT_EQ(toString((*result)[0].type), "10x64xf32");
    for (size_t row = 0; row < kRows; ++row) {
      logits[row].resize(kVocab);
      std::memcpy(logits[row].data(),
                  (*result)[0].bytes.data() + row * kVocab * sizeof(float),
                  kVocab * sizeof(float));
    }
    return logits;
  }

  /// Runs `tokens` in a slot from a position on, in batches of the rows that
  /// fit.
  std::vector<std::vector<float>> chain(int32_t slot, int32_t begin,
                                        const std::vector<int32_t> &tokens) {
    std::vector<std::vector<float>> all;
    for (size_t start = 0; start < tokens.size(); start += kRows) {
      Rows rows;
      size_t count = std::min(kRows, tokens.size() - start);
      for (size_t i = 0; i < count; ++i) {
        rows.tokens[i] = tokens[start + i];
        rows.slots[i] = slot;
        rows.positions[i] = begin + int32_t(start + i);
      }
      auto logits = run("chain", rows);
      all.insert(all.end(), logits.begin(), logits.begin() + long(count));
    }
    return all;
  }

  std::unique_ptr<Session> session;
};

std::vector<int32_t> prefix(int32_t slot, int32_t length) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < length; ++i)
    tokens.push_back((i * 7 + slot * 13 + 3) % 64);
  return tokens;
}

} // namespace

// Two slots whose prefixes end at different places, at any distance from the
// border of a page of 16.
TEST_P(Tree, PathsAreChainsToTheBit) {
  // The simulator takes 10 ms for a run.
  std::vector<int32_t> lengths = {1, 15, 16, 17, 18, 33};
  if (GetParam() == DeviceKind::Cpu) {
    lengths.resize(35);
    std::iota(lengths.begin(), lengths.end(), 1);
  }
  const std::vector<int32_t> tokens = {5, 17, 42, 8, 8, 60, 1, 2, 33, 34};
  const std::vector<std::vector<size_t>> paths = {{0, 1, 3}, {0, 2, 4}};
  for (int32_t length : lengths) {
    int32_t bases[2] = {length, 37 - length};
    Rows rows;
    rows.tokens = tokens;
    for (int32_t slot = 0; slot < 2; ++slot) {
      chain(slot, 0, prefix(slot, bases[slot]));
      for (size_t node = 0; node < kNodes; ++node) {
        rows.slots[size_t(slot) * kNodes + node] = slot;
        rows.positions[size_t(slot) * kNodes + node] =
            bases[slot] + int32_t(node);
      }
    }
    auto tree = run("tree", rows);
    for (int32_t slot = 0; slot < 2; ++slot)
      for (const std::vector<size_t> &path : paths) {
        std::vector<int32_t> linear;
        for (size_t node : path)
          linear.push_back(tokens[size_t(slot) * kNodes + node]);
        auto expected = chain(slot, bases[slot], linear);
        for (size_t depth = 0; depth < path.size(); ++depth)
          EXPECT_TRUE(bitEqual(tree[size_t(slot) * kNodes + path[depth]],
                               expected[depth]))
              << "prefix of " << bases[slot] << ", slot " << slot << ", node "
              << path[depth];
      }
  }
}

// Branches differ, and rows see their slot's prefix, so the comparison above is
// not trivial.
TEST_P(Tree, RowsDependOnTheirPath) {
  auto one = chain(0, 0, prefix(0, 5));
  auto a = chain(0, 5, {5, 17, 8});
  auto b = chain(0, 5, {5, 42, 8});
  EXPECT_TRUE(bitEqual(a[0], b[0]));
  EXPECT_FALSE(bitEqual(a[2], b[2]));
  chain(0, 0, prefix(1, 5));
  EXPECT_FALSE(bitEqual(chain(0, 5, {5, 17, 8})[0], a[0]));
}

// Accepted tokens keep the logits of their own branches' rows.
TEST_P(Tree, KeptLogitsAreThoseOfThePath) {
  std::shared_ptr<const Model> model = loadArtifact("branches", GetParam());
  ASSERT_TRUE(model);
  std::vector<Request> requests(2);
  for (uint32_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt = prefix(int32_t(i), 3 + int32_t(i));
    requests[i].maxTokens = 20;
    requests[i].ignoreEos = true;
  }
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), requests);
  SessionOptions options = single(/*k=*/4, /*slots=*/2);
  Outcome run = generate(model, options, requests);
  expectSame(run, expected, options);
  EXPECT_LT(run.statistics.slotRounds, expected.statistics.slotRounds);
}

// A function with caches takes pages from page 1 on, even if they are in use.
TEST_P(Tree, NeedsPagesThatAreFree) {
  auto status = [](Session &session) {
    Rows rows;
    return session
        .runFunction("chain", {{column(rows.tokens), column(rows.slots),
                                column(rows.positions)}})
        .status()
        .toString();
  };
  EXPECT_EQ(status(*session), "Ok");
  Request request;
  request.prompt = prefix(0, 20);
  auto id = session->add(request);
  ASSERT_TRUE(id.isOk() && session->step().isOk());
  EXPECT_EQ(status(*session),
            "FailedPrecondition: @chain: expected a session whose KV pages are "
            "free, got 2 held and 0 cached");
  ASSERT_TRUE(session->cancel(*id).isOk());
  EXPECT_EQ(status(*session),
            "FailedPrecondition: @chain: expected a session whose KV pages are "
            "free, got 0 held and 1 cached");

  auto small = Session::create(session->model(), {.threads = 1, .kvPages = 8});
  ASSERT_TRUE(small.isOk());
  EXPECT_EQ(status(**small), "FailedPrecondition: @chain: expected a session "
                             "of at least 9 KV pages, got 8");
}

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, Tree, testing::Values(DeviceKind::Cuda));
#endif
INSTANTIATE_TEST_SUITE_P(Cpu, Tree, testing::Values(DeviceKind::Cpu));
