//===- packer_scales_test.cpp - Weights that have scales ------------------===//

#include "PackingTest.h"

using namespace mtp;
using namespace mtp::test;

namespace {

TEST_F(Packing, ScalesFP8Blocks) {
  constexpr int64_t rows = 130, cols = 300;
  std::string bytes;
  for (int64_t i = 0; i < rows * cols; ++i)
    bytes += char(0x30 + i % 16);
  builder.add("w.weight", "F8_E4M3", {rows, cols}, bytes);
  builder.addF32("w.weight_scale_inv", {2, 3}, {1, 2, 3, 4, 5, 6});
  auto at = [&](int64_t, int64_t n, int64_t k) {
    float value;
    uint8_t byte = uint8_t(bytes[size_t(n * cols + k)]);
    decodeElements(WeightType::F8E4M3, &byte, 1, &value);
    int64_t scale = 1 + n / 128 * 3 + k / 128;
    return value * float(scale);
  };
  expectPacked(
      {"w", WeightLayout::Panels, kBF16, cols, rows, 1, {{"w.weight"}}}, at);
  expectPacked(
      {"w",
       WeightLayout::Panels,
       kF32,
       4,
       40,
       1,
       {{"w.weight", 126, 130, 100, 140, true}}},
      [&](int64_t s, int64_t n, int64_t k) { return at(s, 126 + k, 100 + n); });
  builder.add("v.weight", "F8_E4M3", {rows, cols}, bytes);
  builder.addF32("v.weight_scale_inv", {3, 3}, std::vector<float>(9, 1.0f));
  Status status = packError(
      {"w", WeightLayout::Panels, kBF16, cols, rows, 1, {{"v.weight"}}});
  EXPECT_NE(status.message().find("expected scales F32, BF16, F16 or F8_E8M0 "
                                  "[2, 3] for blocks of 128 x 128 at "
                                  "\"v.weight_scale_inv\", got F32 [3, 3]"),
            std::string_view::npos)
      << status.toString();
}

/// Bits of 0.25, 0.5, 1, 2, 4 and 8 in types of scales (modular#7142,
/// HabanaAI/vllm-fork#2141, omlx#2159). They are written out so that they do
/// not depend on the packer.
TEST_F(Packing, ScalesFP8BlocksByAnyType) {
  constexpr int64_t rows = 130, cols = 300;
  const std::pair<const char *, std::vector<uint16_t>> kinds[] = {
      {"BF16", {0x3e80, 0x3f00, 0x3f80, 0x4000, 0x4080, 0x4100}},
      {"F16", {0x3400, 0x3800, 0x3c00, 0x4000, 0x4400, 0x4800}},
      {"F8_E8M0", {125, 126, 127, 128, 129, 130}}};
  for (const auto &[type, bits] : kinds) {
    SCOPED_TRACE(type);
    std::string key = "w" + std::string(type), scales;
    for (uint16_t number : bits) {
      scales += char(number & 0xff);
      if (bits[0] > 0xff)
        scales += char(number >> 8);
    }
    // 0x38 is one.
    builder.add(key, "F8_E4M3", {rows, cols}, std::string(rows * cols, 0x38));
    builder.add(key + "_scale_inv", type, {2, 3}, scales);
    expectPacked({"w", WeightLayout::Raw, kF32, cols, rows, 1, {{key}}},
                 [](int64_t, int64_t n, int64_t k) {
                   return 0.25f * float(1 << (n / 128 * 3 + k / 128));
                 });
  }
}

/// Matrices in one tensor, whose number of rows is not a multiple of a block's.
TEST_F(Packing, ScalesFP8BlocksOfEachMatrix) {
  builder.add("w", "F8_E4M3", {2, 130, 3}, std::string(2 * 130 * 3, 0x38));
  builder.addF32("w_scale_inv", {2, 2, 1}, {1, 2, 3, 4});
  WeightSource source{"w", 0, 130};
  source.headStride = 130;
  expectPacked({"w", WeightLayout::Panels, kF32, 3, 130, 2, {source}},
               [](int64_t s, int64_t n, int64_t) {
                 int64_t scale = 1 + 2 * s + n / 128;
                 return float(scale);
               });
}

/// Scales of other types, which would be misread as numbers.
TEST_F(Packing, RefusesOtherScales) {
  auto error = [&](const std::string &key) {
    builder.add(key, "F8_E4M3", {2, 2}, std::string(4, 0x38));
    return std::string(
        packError({"w", WeightLayout::Raw, kF32, 2, 2, 1, {{key}}}).message());
  };
  builder.add("a_scale_inv", "I8", {1, 1}, "x");
  EXPECT_NE(error("a").find("at \"a_scale_inv\", got I8 [1, 1]"),
            std::string::npos);
  builder.add("b.scale", "U8", {1, 1}, "x");
  EXPECT_NE(error("b.weight")
                .find("expected scales of 2 rows at \"b.scale\", "
                      "got U8 [1, 1]"),
            std::string::npos);
  builder.addF32("c.weight_scale", {3}, {1, 1, 1});
  EXPECT_NE(error("c.weight").find("at \"c.weight_scale\", got F32 [3]"),
            std::string::npos);
  EXPECT_NE(error("e").find("expected scales at \"e_scale_inv\" or "
                            "\"e_scale\", got none"),
            std::string::npos);
}

} // namespace
