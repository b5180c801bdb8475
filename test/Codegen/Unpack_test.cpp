//===- Unpack_test.cpp - From fragments to rows of a matrix ---------------===//

#include "harness/Harness.h"
#include "runtime/schema/FragmentOrder.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp::codegen::test;
using Order = mtp::FragmentOrder;

/// Returns a distinct number for every weight, as bits of a bf16.
static uint16_t weightOf(int64_t output, int64_t input, int64_t k) {
  return uint16_t(1 + (output * k + input) % 65535);
}

/// Packs outputs in panels of 32, as FORMAT.md defines. If `gated`, gates and
/// ups alternate.
static std::vector<uint16_t> pack(int64_t k, int64_t n, bool gated) {
  int64_t halves = gated ? 2 : 1, outputs = n / halves;
  int64_t panels = (outputs + Order::kOutputs - 1) / Order::kOutputs;
  int64_t panelBytes = k / Order::kInputs * Order::kBlockBytes;
  std::vector<uint16_t> packed(size_t(halves * panels * panelBytes / 2));
  for (int64_t half = 0; half < halves; ++half)
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t input = 0; input < k; ++input) {
        int64_t panel = output / Order::kOutputs * halves + half;
        int64_t byte =
            panel * panelBytes + Order::byteOf(output % Order::kOutputs, input);
        packed[size_t(byte / 2)] = weightOf(half * outputs + output, input, k);
      }
  return packed;
}

namespace {
struct Case {
  int64_t k, n;
  bool gated;

  std::string config() const {
    return "k = " + std::to_string(k) + ", n = " + std::to_string(n) +
           ", format = <bf16>, fragments = true, gated = " +
           (gated ? "true" : "false");
  }
};

class Unpack : public testing::TestWithParam<Case> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(
    Matrices, Unpack,
    testing::Values(Case{32, 8, false}, Case{64, 96, false},
                    Case{96, 40, false}, Case{544, 32, false},
                    Case{64, 128, true}, Case{96, 80, true}),
    NamedByConfig());

TEST_P(Unpack, GivesTheMatrix) {
  auto [k, n, gated] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    // CPUs do not need this kernel.
    if (name != "gpu-sim")
      continue;
    Kernel kernel(target, "unpack", GetParam().config());
    Guarded<uint16_t> packed(pack(k, n, gated)), result(size_t(n * k));
    kernel.run({packed.data(), result.data()}, {n});
    std::vector<uint16_t> matrix = result.values();
    for (int64_t output = 0; output < n; ++output)
      for (int64_t input = 0; input < k; ++input)
        ASSERT_EQ(matrix[size_t(output * k + input)],
                  weightOf(output, input, k))
            << output << ", " << input;
  }
}
