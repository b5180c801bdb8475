//===- WeightType.cpp - Element types of stored weights -------------------===//

#include "compiler/Weights/WeightType.h"

#include <array>
#include <bit>
#include <cstring>

namespace mtp {

namespace {

struct TypeInfo {
  std::string_view name;
  unsigned bits;         ///< Of a block.
  unsigned elements = 1; ///< Of a block.
};

/// Indexed by the enum.
constexpr TypeInfo kTypes[] = {
    {"BOOL", 8},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8},
    {"I8", 8},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"I16", 16},
    {"U16", 16},
    {"F16", 16},
    {"BF16", 16},
    {"I32", 32},
    {"U32", 32},
    {"F32", 32},
    {"C64", 64},
    {"F64", 64},
    {"I64", 64},
    {"U64", 64},
    {"Q4_0", 18 * 8, 32},
    {"Q4_1", 20 * 8, 32},
    {"Q5_0", 22 * 8, 32},
    {"Q5_1", 24 * 8, 32},
    {"Q8_0", 34 * 8, 32},
    {"Q2_K", 84 * 8, 256},
    {"Q3_K", 110 * 8, 256},
    {"Q4_K", 144 * 8, 256},
    {"Q5_K", 176 * 8, 256},
    {"Q6_K", 210 * 8, 256},
    {"IQ4_NL", 18 * 8, 32},
    {"IQ4_XS", 136 * 8, 256},
    {"MXFP4", 17 * 8, 32},
    {"NVFP4", 36 * 8, 64},
};

float decodeF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  exponent = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | exponent << 23 | mantissa << 13);
}

/// Decodes the "fn" variant: no infinities, and S.1111.111 is the only NaN.
constexpr float decodeF8E4M3(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24;
  uint32_t exponent = (bits >> 3) & 0xf;
  uint32_t mantissa = bits & 0x7;
  if (exponent == 0xf && mantissa == 0x7)
    return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent == 0) {
    float magnitude = float(mantissa) * 0x1p-9f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + (127 - 7)) << 23 |
                              mantissa << 20);
}

/// Decodes an exponent. The least power of two is denormal in f32.
float decodeF8E8M0(uint8_t bits) {
  if (bits == 0xff)
    return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : uint32_t(bits) << 23);
}

constexpr std::array<float, 256> makeF8Table() {
  std::array<float, 256> table{};
  for (unsigned i = 0; i < 256; ++i)
    table[i] = decodeF8E4M3(uint8_t(i));
  return table;
}

constexpr std::array<float, 256> kF8Table = makeF8Table();

} // namespace

std::string_view toString(WeightType type) {
  return kTypes[static_cast<unsigned>(type)].name;
}

std::optional<WeightType> parseWeightType(std::string_view name) {
  for (unsigned i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name && kTypes[i].elements == 1)
      return static_cast<WeightType>(i);
  return std::nullopt;
}

unsigned bitWidth(WeightType type) {
  return kTypes[static_cast<unsigned>(type)].bits;
}

uint64_t blockElements(WeightType type) {
  return kTypes[static_cast<unsigned>(type)].elements;
}

uint64_t blockBytes(WeightType type) {
  return kTypes[static_cast<unsigned>(type)].bits / 8;
}

bool isReadable(WeightType type) {
  return hasBlocks(type) || type == WeightType::BF16 ||
         type == WeightType::F16 || type == WeightType::F32 ||
         type == WeightType::F8E4M3;
}

bool isReadableScale(WeightType type) {
  return type == WeightType::F8E8M0 ||
         (isReadable(type) && !hasBlocks(type) && type != WeightType::F8E4M3);
}

void decodeElements(WeightType type, const uint8_t *bytes, int64_t count,
                    float *out) {
  switch (type) {
  case WeightType::F32:
    std::memcpy(out, bytes, size_t(count) * sizeof(float));
    return;
  case WeightType::BF16:
    for (int64_t i = 0; i < count; ++i) {
      uint16_t half;
      std::memcpy(&half, bytes + 2 * i, sizeof(half));
      out[i] = std::bit_cast<float>(uint32_t(half) << 16);
    }
    return;
  case WeightType::F16:
    for (int64_t i = 0; i < count; ++i) {
      uint16_t half;
      std::memcpy(&half, bytes + 2 * i, sizeof(half));
      out[i] = decodeF16(half);
    }
    return;
  case WeightType::F8E4M3:
    for (int64_t i = 0; i < count; ++i)
      out[i] = kF8Table[bytes[i]];
    return;
  case WeightType::F8E8M0:
    for (int64_t i = 0; i < count; ++i)
      out[i] = decodeF8E8M0(bytes[i]);
    return;
  default:
    std::memset(out, 0, size_t(count) * sizeof(float));
    return;
  }
}

} // namespace mtp
