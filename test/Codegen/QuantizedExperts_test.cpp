//===- QuantizedExperts_test.cpp - Experts with weights of integers -------===//

#include "harness/Harness.h"
#include "harness/Quantized.h"

#include <cmath>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

/// Experts in integers and the pairs of some rows by expert.
struct Mixture {
  static constexpr int experts = 5, topK = 2;

  Mixture(int rows, Quantization format, bool fragments)
      : rows(rows), k(fragments ? 96 : 75), inter(fragments ? 64 : 37),
        format(format), fragments(fragments), x(randomFloats(rows * k, 1)) {
    for (int e = 0; e < experts; ++e) {
      up.push_back(quantizeWeights(randomFloats(2 * inter * k, 10 + e, 0.2f),
                                   2 * inter, k, format));
      down.push_back(quantizeWeights(randomFloats(k * inter, 20 + e, 0.2f), k,
                                     inter, format));
      auto append = [](std::vector<uint8_t> &to, std::vector<uint8_t> part) {
        to.insert(to.end(), part.begin(), part.end());
      };
      append(packedUp, pack(up[e], /*gated=*/true));
      append(packedDown, pack(down[e], /*gated=*/false));
    }
  }

  /// Returns the expert of choice `j` of a row. Expert 2 gets most rows and
  /// expert 3 none.
  static int expertOf(int row, int j) {
    return j == 0 ? 2 : row % 3 == 0 ? 4 : row % 3 - 1;
  }

  std::vector<uint8_t> pack(const QuantizedMatrix &w, bool gated) const {
    return fragments ? packFragments(w, gated) : packQuantized(w, gated);
  }

  std::string config(bool gateUp) const {
    return "experts = 5, top_k = 2, k = " + std::to_string(gateUp ? k : inter) +
           (gateUp ? ", inter = " : ", n = ") +
           std::to_string(gateUp ? inter : k) + ", " + format.config() +
           (fragments ? ", fragments = true" : "");
  }

  /// Computes both products of rows [first, first + count). Returns the
  /// activations of pairs, and the outputs of pairs.
  std::pair<std::vector<float>, std::vector<float>>
  run(const Kernel &gateUp, const Kernel &downKernel, int first, int count,
      Split split) const {
    std::vector<int32_t> startOf(1), pairsOf;
    for (int e = 0; e < experts; ++e) {
      for (int p = 0; p < count * topK; ++p)
        if (expertOf(first + p / topK, p % topK) == e)
          pairsOf.push_back(p);
      startOf.push_back(int32_t(pairsOf.size()));
    }
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
    return {act.values(), out.values()};
  }

  int rows, k, inter;
  Quantization format;
  bool fragments;
  std::vector<float> x;
  std::vector<QuantizedMatrix> up, down;
  std::vector<uint8_t> packedUp, packedDown;
};

} // namespace

static void checkExperts(const Quantization &format, bool fragments) {
  using M = Mixture;
  M m(80, format, fragments);
  std::vector<float> firstTarget;
  for (const auto &[name, target] : allTargets()) {
    if (fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    Kernel gateUp(target, "moe_gate_up", m.config(true));
    Kernel down(target, "moe_down", m.config(false));
    int rows = target.rowsOf(m.rows), chains = target.sumChains();
    expectRowInvariant(target.rowsOf(40), M::topK * m.k,
                       [&](int first, int count, Split split) {
                         return m.run(gateUp, down, first, count, split).second;
                       });
    auto [act, out] = m.run(gateUp, down, 0, rows, Split::Random);
    QuantizedMatrix in = quantizeRows(m.x, rows, m.k, m.k, format.group);
    QuantizedMatrix mid =
        quantizeRows(act, rows * M::topK, m.inter, m.inter, format.group);
    for (int p = 0; p < rows * M::topK; ++p) {
      int row = p / M::topK, e = M::expertOf(row, p % M::topK);
      for (int i = 0; i < m.inter; ++i) {
        float gate = quantizedDot(in, row, m.up[e], i, chains);
        float up = quantizedDot(in, row, m.up[e], i + m.inter, chains);
        ASSERT_NEAR(act[p * m.inter + i], silu(gate) * up,
                    1e-6 * (1 + std::fabs(gate * up)));
      }
      for (int o = 0; o < m.k; ++o)
        ASSERT_EQ(out[p * m.k + o], quantizedDot(mid, p, m.down[e], o, chains));
    }
    if (target.isGpu)
      continue;
    firstTarget = firstTarget.empty() ? out : firstTarget;
    EXPECT_EQ(out, firstTarget) << "instruction sets disagree";
  }
}

namespace {
class QuantizedExperts : public testing::TestWithParam<Format> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedExperts,
                         testing::ValuesIn(formats()), nameOfFormat);

TEST_P(QuantizedExperts, MatchReferenceAndAreRowInvariant) {
  auto [elements, fragments] = GetParam();
  checkExperts({elements, elements == WeightElements::Int8 ? 64 : 32},
               fragments);
}

// Formats of Q4_K, Q6_K, MXFP4 and NVFP4.
TEST(QuantizedStoredExperts, MatchReferenceAndAreRowInvariant) {
  using enum WeightElements;
  for (const Quantization &format :
       {Quantization{Int4, 32, WeightScales::F16x6, true},
        {Int6, 16, WeightScales::F16x8},
        {E2M1, 32, WeightScales::E8M0},
        {E2M1, 16, WeightScales::E4M3}}) {
    SCOPED_TRACE(format.config());
    checkExperts(format, /*fragments=*/false);
  }
}
