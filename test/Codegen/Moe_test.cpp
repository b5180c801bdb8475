//===- Moe_test.cpp - Mixtures of experts ---------------------------------===//

#include "harness/Harness.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct RouteCase {
  int experts, topK, groups, bestGroups;
  bool sigmoid, bias, norm;
  double scale;
  /// Number that is added to the bias of every expert.
  float lift = 0;

  std::string keys() const {
    auto text = [](bool value) { return value ? "true" : "false"; };
    return "experts = " + std::to_string(experts) +
           ", top_k = " + std::to_string(topK) +
           ", n_group = " + std::to_string(groups) +
           ", topk_group = " + std::to_string(bestGroups) +
           ", scoring = " + (sigmoid ? "sigmoid" : "softmax") +
           ", bias = " + text(bias) + ", norm_topk = " + text(norm) +
           ", scale = " + std::to_string(scale);
  }
  /// Returns the name of the test.
  std::string config() const {
    return keys() + (lift != 0 ? ", negative" : "");
  }
};

struct Choice {
  std::vector<int> index;
  std::vector<double> weight;
};

} // namespace

/// Returns the indices of the `count` largest values. Of equal values, the
/// lowest index comes first.
static std::vector<int> topIndices(const std::vector<double> &values,
                                   int count) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return values[a] > values[b]; });
  order.resize(count);
  return order;
}

static Choice route(const RouteCase &c, const float *logits,
                    const std::vector<float> &bias) {
  std::vector<double> scores(c.experts), choice;
  double most = *std::max_element(logits, logits + c.experts), sum = 0;
  for (int e = 0; e < c.experts; ++e)
    sum += scores[e] = c.sigmoid ? 1 / (1 + std::exp(-double(logits[e])))
                                 : std::exp(logits[e] - most);
  if (!c.sigmoid)
    for (double &score : scores)
      score /= sum;
  choice = scores;
  for (int e = 0; e < c.experts && c.bias; ++e)
    choice[e] += bias[e];

  int size = c.experts / c.groups;
  std::vector<double> groupScores;
  for (int g = 0; g < c.groups; ++g) {
    std::vector<double> part(choice.begin() + g * size,
                             choice.begin() + (g + 1) * size);
    std::sort(part.rbegin(), part.rend());
    groupScores.push_back(part[0] + (size > 1 ? part[1] : 0));
  }
  std::vector<int> best = topIndices(groupScores, c.bestGroups);
  for (int e = 0; e < c.experts; ++e)
    if (std::find(best.begin(), best.end(), e / size) == best.end())
      choice[e] = -INFINITY;

  Choice result{topIndices(choice, c.topK), {}};
  sum = 0;
  for (int e : result.index)
    sum += scores[e];
  for (int e : result.index)
    result.weight.push_back(scores[e] / (c.norm ? sum : 1) * c.scale);
  return result;
}

static const RouteCase routeCases[] = {
    {64, 6, 1, 1, true, true, true, 2.5},
    {32, 4, 4, 2, true, true, true, 1.0},
    {36, 5, 6, 3, true, false, false, 1.5},
    // Every choice is negative, and the number of experts in the kept group
    // equals the number of chosen experts.
    {32, 4, 4, 2, true, true, true, 1.0, -5},
    {36, 6, 6, 1, true, true, true, 2.5, -1.5},
    {128, 8, 1, 1, false, false, true, 1.0},
    {20, 20, 1, 1, false, false, false, 1.0}};

namespace {
class MoeRouteOf : public testing::TestWithParam<RouteCase> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Experts, MoeRouteOf, testing::ValuesIn(routeCases),
                         NamedByConfig());

TEST_P(MoeRouteOf, MatchesReference) {
  const RouteCase &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "moe_route", c.keys());
    auto logits = randomFloats(40 * c.experts, 1);
    auto bias = randomFloats(c.experts, 2, 0.2f);
    for (float &value : bias)
      value += c.lift;
    auto run = [&](int first, int count, Split split) {
      Guarded<float> x(
          std::vector<float>(logits.begin() + first * c.experts,
                             logits.begin() + (first + count) * c.experts));
      Guarded<float> b(bias), weight(count * c.topK);
      Guarded<int32_t> index(count * c.topK);
      std::vector<void *> buffers{x.data()};
      if (c.bias)
        buffers.push_back(b.data());
      buffers.push_back(index.data());
      buffers.push_back(weight.data());
      kernel.run(buffers, {count}, split);
      std::vector<float> both;
      for (int r = 0; r < count; ++r) {
        both.insert(both.end(), &index[r * c.topK],
                    &index[r * c.topK] + c.topK);
        both.insert(both.end(), &weight[r * c.topK],
                    &weight[r * c.topK] + c.topK);
      }
      return both;
    };
    expectRowInvariant(40, 2 * c.topK, run);
    std::vector<float> y = run(0, 40, Split::Whole);
    for (int r = 0; r < 40; ++r) {
      Choice want = route(c, &logits[r * c.experts], bias);
      for (int j = 0; j < c.topK; ++j) {
        EXPECT_EQ(y[2 * r * c.topK + j], want.index[j]);
        EXPECT_NEAR(y[(2 * r + 1) * c.topK + j], want.weight[j], 2e-6);
      }
    }
  }
}

TEST(MoeRoute, TiesGoToTheLowestIndex) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "moe_route",
                  "experts = 40, top_k = 5, scoring = softmax");
    std::vector<float> logits(40, 1.0f);
    logits[17] = logits[33] = 2.0f;
    Guarded<float> x(logits), weight(5);
    Guarded<int32_t> index(5);
    kernel.run({x.data(), index.data(), weight.data()}, {1});
    EXPECT_EQ(index.values(), (std::vector<int32_t>{17, 33, 0, 1, 2}));
  }
}

TEST(MoePlan, SortsActivePairsByExpert) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "moe_plan", "experts = 6, top_k = 2");
    Guarded<int32_t> positions(std::vector<int32_t>{3, -1, 0, 9});
    Guarded<int32_t> index(std::vector<int32_t>{5, 1, 0, 1, 1, 3, 5, 1});
    Guarded<int32_t> start(7), pairs(8);
    std::fill_n(pairs.data(), 8, -7);
    kernel.run({positions.data(), index.data(), start.data(), pairs.data()},
               {4});
    EXPECT_EQ(start.values(), (std::vector<int32_t>{0, 0, 3, 3, 4, 4, 6}));
    EXPECT_EQ(pairs.values(), (std::vector<int32_t>{1, 4, 7, 5, 0, 6, -7, -7}));
  }
}

namespace {
struct Plan {
  int experts, topK, rows;

  std::string keys() const {
    return "experts = " + std::to_string(experts) +
           ", top_k = " + std::to_string(topK);
  }
  /// Returns the name of the test.
  std::string config() const {
    return keys() + ", rows = " + std::to_string(rows);
  }
};

class MoePlanOf : public testing::TestWithParam<Plan> {};
} // namespace

// With more pairs than a GPU's block takes at once, and with more experts than
// it has threads.
INSTANTIATE_TEST_SUITE_P(Experts, MoePlanOf,
                         testing::Values(Plan{6, 2, 300}, Plan{40, 3, 57},
                                         Plan{256, 8, 33}, Plan{300, 4, 130},
                                         Plan{600, 2, 9}),
                         NamedByConfig());

TEST_P(MoePlanOf, SortsManyPairs) {
  auto [experts, topK, rows] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "moe_plan", GetParam().keys());
    std::mt19937 random(experts);
    Guarded<int32_t> positions(rows), index(size_t(rows) * topK);
    Guarded<int32_t> start(experts + 1), pairs(size_t(rows) * topK);
    std::vector<std::vector<int32_t>> ofExpert(experts);
    for (int r = 0; r < rows; ++r) {
      positions[r] = random() % 5 ? int32_t(random() % 100) : -1;
      for (int j = 0; j < topK; ++j) {
        index[r * topK + j] = int32_t(random() % experts);
        if (positions[r] >= 0)
          ofExpert[index[r * topK + j]].push_back(r * topK + j);
      }
    }
    std::fill_n(pairs.data(), pairs.size(), -7);
    kernel.run({positions.data(), index.data(), start.data(), pairs.data()},
               {rows});
    std::vector<int32_t> starts{0}, sorted;
    for (const std::vector<int32_t> &of : ofExpert) {
      sorted.insert(sorted.end(), of.begin(), of.end());
      starts.push_back(int32_t(sorted.size()));
    }
    sorted.resize(pairs.size(), -7);
    EXPECT_EQ(start.values(), starts);
    EXPECT_EQ(pairs.values(), sorted);
  }
}

namespace {

/// Experts, their weights and a plan for the rows.
struct Mixture {
  static constexpr int experts = 5, topK = 2;

  Mixture(int rows, bool bf16, int k, int inter, bool fragments)
      : k(k), inter(inter), rows(rows), bf16(bf16), fragments(fragments),
        x(randomFloats(rows * k, 1)),
        up(randomFloats(experts * 2 * inter * k, 2, 0.2f)),
        down(randomFloats(experts * k * inter, 3, 0.2f)) {
    for (int e = 0; e < experts; ++e) {
      auto part = packWeights({up.begin() + e * 2 * inter * k,
                               up.begin() + (e + 1) * 2 * inter * k},
                              2 * inter, k, bf16, /*gated=*/true);
      packedUp.insert(packedUp.end(), part.begin(), part.end());
      part = packWeights(
          {down.begin() + e * k * inter, down.begin() + (e + 1) * k * inter}, k,
          inter, bf16);
      packedDown.insert(packedDown.end(), part.begin(), part.end());
    }
    if (fragments) {
      packedUp = toFragments(packedUp, k);
      packedDown = toFragments(packedDown, inter);
    }
    // Expert 2 gets most rows and expert 3 none.
    for (int r = 0; r < rows; ++r) {
      index.push_back(2);
      index.push_back(r % 3 == 0 ? 4 : r % 3 - 1);
    }
  }

  std::string config(bool gateUp) const {
    std::string widths =
        gateUp
            ? "k = " + std::to_string(k) + ", inter = " + std::to_string(inter)
            : "k = " + std::to_string(inter) + ", n = " + std::to_string(k);
    return "experts = 5, top_k = 2, " + widths +
           ", format = " + (bf16 ? "<bf16>" : "<f32>") +
           (fragments ? ", fragments = true" : "");
  }

  /// Returns all outputs for the pairs of rows [first, first + count).
  std::vector<float> run(const Kernel &gateUp, const Kernel &downKernel,
                         int first, int count, Split split) const {
    std::vector<int32_t> startOf, pairsOf;
    plan(first, count, startOf, pairsOf);
    Guarded<float> in(std::vector<float>(x.begin() + first * k,
                                         x.begin() + (first + count) * k));
    Guarded<uint8_t> wUp(packedUp), wDown(packedDown);
    Guarded<int32_t> start(startOf), pairs(pairsOf);
    Guarded<float> act(count * topK * inter), out(count * topK * k);
    gateUp.run({in.data(), wUp.data(), start.data(), pairs.data(), act.data()},
               {count}, split);
    downKernel.run(
        {act.data(), wDown.data(), start.data(), pairs.data(), out.data()},
        {count}, split);
    return out.values();
  }

  /// Returns the outputs of a pair in double precision. With `rounded`, rows
  /// are rounded as weights are.
  std::vector<double> outputsOf(int pair, bool rounded) const {
    auto weight = [&](float w) { return bf16 ? toBF16(w) : w; };
    auto value = [&](float v) { return rounded ? toBF16(v) : v; };
    int e = index[pair];
    const float *row = &x[pair / topK * k];
    auto dot = [&](int output) {
      double sum = 0;
      for (int i = 0; i < k; ++i)
        sum += double(value(row[i])) *
               weight(up[(e * 2 * inter + output) * k + i]);
      return sum;
    };
    std::vector<float> act(inter);
    for (int i = 0; i < inter; ++i)
      act[i] = value(float(silu(dot(i)) * dot(i + inter)));
    std::vector<double> outputs(k);
    for (int o = 0; o < k; ++o)
      for (int i = 0; i < inter; ++i)
        outputs[o] += double(act[i]) * weight(down[(e * k + o) * inter + i]);
    return outputs;
  }

  /// Returns the pairs of rows [first, first + count), by expert.
  void plan(int first, int count, std::vector<int32_t> &start,
            std::vector<int32_t> &pairs) const {
    start.assign(1, 0);
    for (int e = 0; e < experts; ++e) {
      for (int p = 0; p < count * topK; ++p)
        if (index[first * topK + p] == e)
          pairs.push_back(p);
      start.push_back(pairs.size());
    }
  }

  int k, inter, rows;
  bool bf16, fragments;
  std::vector<float> x, up, down;
  std::vector<uint8_t> packedUp, packedDown;
  std::vector<int> index;
};

struct ExpertCase {
  int k, inter;
  bool bf16, fragments = false;

  /// Returns the name of the test.
  std::string config() const {
    return "k = " + std::to_string(k) + ", inter = " + std::to_string(inter) +
           ", " + (bf16 ? "bf16" : "f32") + (fragments ? ", fragments" : "");
  }
};

class MoeExpertsOf : public testing::TestWithParam<ExpertCase> {};

} // namespace

// The widths of the last cases fill tiles, and chunks of tensor cores.
INSTANTIATE_TEST_SUITE_P(Widths, MoeExpertsOf,
                         testing::Values(ExpertCase{41, 37, false},
                                         ExpertCase{41, 37, true},
                                         ExpertCase{64, 32, true},
                                         ExpertCase{64, 32, true, true}),
                         NamedByConfig());

TEST_P(MoeExpertsOf, MatchReferenceAndAreRowInvariant) {
  const ExpertCase &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (c.fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    Mixture m(target.rowsOf(80), c.bf16, c.k, c.inter, c.fragments);
    Kernel gateUp(target, "moe_gate_up", m.config(true));
    Kernel down(target, "moe_down", m.config(false));
    auto run = [&](int first, int count, Split split) {
      return m.run(gateUp, down, first, count, split);
    };
    expectRowInvariant(target.rowsOf(40), m.topK * m.k, run);
    std::vector<float> y = run(0, m.rows, Split::Random);
    bool rounded = m.bf16 && target.roundsRows();
    for (int p = 0; p < m.rows * m.topK; ++p) {
      std::vector<double> want = m.outputsOf(p, rounded);
      for (int o = 0; o < m.k; ++o)
        ASSERT_NEAR(y[p * m.k + o], want[o], rounded ? 2e-2 : 1e-4);
    }
  }
}

namespace {
struct Added {
  bool residual, shared;

  std::string keys() const {
    auto text = [](bool value) { return value ? "true" : "false"; };
    return std::string("residual = ") + text(residual) +
           ", shared = " + text(shared);
  }
  /// Returns the name of the test.
  std::string config() const {
    return std::string(residual ? "residual" : "plain") +
           (shared ? ", shared" : "");
  }
};

class MoeCombineOf : public testing::TestWithParam<Added> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Added, MoeCombineOf,
                         testing::Values(Added{false, false},
                                         Added{true, false}, Added{false, true},
                                         Added{true, true}),
                         NamedByConfig());

TEST_P(MoeCombineOf, AddsInOrderAndSkipsPaddingRows) {
  const int rows = 5, width = 27, topK = 3;
  auto [residual, shared] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "moe_combine",
                  "width = 27, top_k = 3, " + GetParam().keys());
    auto down = randomFloats(rows * topK * width, 1);
    std::fill_n(&down[2 * topK * width], topK * width, NAN);
    Guarded<float> in(down), weight(randomFloats(rows * topK, 2)),
        res(randomFloats(rows * width, 3)), sh(randomFloats(rows * width, 4)),
        y(rows * width);
    Guarded<int32_t> positions(std::vector<int32_t>{0, 5, -1, 7, 1});
    std::vector<void *> buffers{positions.data(), weight.data(), in.data()};
    if (residual)
      buffers.push_back(res.data());
    if (shared)
      buffers.push_back(sh.data());
    buffers.push_back(y.data());
    kernel.run(buffers, {rows}, Split::Random);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i) {
        float sum = residual ? res[r * width + i] : 0;
        if (shared)
          sum += sh[r * width + i];
        for (int j = 0; j < topK && r != 2; ++j)
          sum = std::fma(weight[r * topK + j], in[(r * topK + j) * width + i],
                         sum);
        EXPECT_EQ(y[r * width + i], sum);
      }
  }
}
