//===- weight_type_test.cpp -----------------------------------------------===//

#include "compiler/Weights/WeightType.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;

namespace {

float decode(WeightType type, uint16_t bits) {
  float value;
  decodeElements(type, reinterpret_cast<const uint8_t *>(&bits), 1, &value);
  return value;
}

TEST(WeightType, NamesRoundTrip) {
  for (int i = 0; i <= int(WeightType::U64); ++i) {
    auto type = static_cast<WeightType>(i);
    EXPECT_EQ(parseWeightType(toString(type)), type);
    EXPECT_GT(bitWidth(type), 0u);
  }
  EXPECT_FALSE(parseWeightType("bf16"));
  EXPECT_FALSE(parseWeightType(""));
}

TEST(WeightType, DecodesF16) {
  EXPECT_EQ(decode(WeightType::F16, 0x3c00), 1.0f);
  EXPECT_EQ(decode(WeightType::F16, 0xc500), -5.0f);
  EXPECT_EQ(decode(WeightType::F16, 0x7bff), 65504.0f);
  EXPECT_EQ(decode(WeightType::F16, 0x0400), 0x1p-14f);
  EXPECT_EQ(decode(WeightType::F16, 0x0001), 0x1p-24f);
  EXPECT_EQ(decode(WeightType::F16, 0x83ff), -1023 * 0x1p-24f);
  EXPECT_TRUE(std::signbit(decode(WeightType::F16, 0x8000)));
  EXPECT_TRUE(std::isinf(decode(WeightType::F16, 0x7c00)));
  EXPECT_TRUE(std::isnan(decode(WeightType::F16, 0x7e01)));
}

TEST(WeightType, DecodesF8E4M3) {
  EXPECT_EQ(decode(WeightType::F8E4M3, 0x38), 1.0f);
  EXPECT_EQ(decode(WeightType::F8E4M3, 0xb8), -1.0f);
  EXPECT_EQ(decode(WeightType::F8E4M3, 0x7e), 448.0f);
  EXPECT_EQ(decode(WeightType::F8E4M3, 0x01), 0x1p-9f);
  EXPECT_EQ(decode(WeightType::F8E4M3, 0x08), 0x1p-6f);
  EXPECT_TRUE(std::isnan(decode(WeightType::F8E4M3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(WeightType::F8E4M3, 0xff)));
}

TEST(WeightType, DecodesF8E8M0) {
  for (unsigned bits = 0; bits < 0xff; ++bits)
    EXPECT_EQ(decode(WeightType::F8E8M0, uint16_t(bits)),
              std::ldexp(1.0f, int(bits) - 127));
  EXPECT_TRUE(std::isnan(decode(WeightType::F8E8M0, 0xff)));
  // It is a type of scales only.
  EXPECT_FALSE(isReadable(WeightType::F8E8M0));
  EXPECT_TRUE(isReadableScale(WeightType::F8E8M0));
  EXPECT_FALSE(isReadableScale(WeightType::F8E4M3));
  EXPECT_FALSE(isReadableScale(WeightType::U8));
}

TEST(WeightType, EveryBF16SurvivesF32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = decode(WeightType::BF16, uint16_t(bits));
    if (std::isnan(value))
      EXPECT_EQ(roundToBF16(value), bits | 0x40);
    else
      EXPECT_EQ(roundToBF16(value), bits);
  }
}

TEST(WeightType, RoundsToNearestEven) {
  auto round = [](uint32_t bits) {
    return roundToBF16(std::bit_cast<float>(bits));
  };
  EXPECT_EQ(round(0x3f808000), 0x3f80); // A tie rounds down to even,
  EXPECT_EQ(round(0x3f818000), 0x3f82); // and up to even.
  EXPECT_EQ(round(0x3f808001), 0x3f81);
  EXPECT_EQ(round(0x3f807fff), 0x3f80);
  EXPECT_EQ(round(0x7f7fffff), 0x7f80); // Overflow gives infinity.
  EXPECT_EQ(round(0xff800000), 0xff80);
  EXPECT_EQ(round(0x7f800001), 0x7fc0); // A NaN stays a NaN.
}

} // namespace
