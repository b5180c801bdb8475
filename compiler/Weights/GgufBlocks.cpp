//===- GgufBlocks.cpp - Block formats of GGUF tensors ---------------------===//
//
// Each function decodes the integers and scales of one block.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/GgufBlocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mtp {

namespace {

float readHalf(const uint8_t *bytes) {
  float value;
  decodeElements(WeightType::F16, bytes, 1, &value);
  return value;
}

int low(uint8_t byte) { return byte & 15; }
int high(uint8_t byte) { return byte >> 4; }

/// Returns nibble `i` of a run of `count` elements, whose first half is in the
/// low nibbles.
int nibble(const uint8_t *bytes, int i, int count = 32) {
  return i < count / 2 ? low(bytes[i]) : high(bytes[i - count / 2]);
}

void decodeQ4_0(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = {readHalf(block)};
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(nibble(block + 2, i) - 8);
}

/// Returns the codes of a group that stores a scale and its smallest value.
GroupCodes scaleAndLeast(const uint8_t *block) {
  return {readHalf(block), -readHalf(block + 2), 1, 1};
}

void decodeQ4_1(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = scaleAndLeast(block);
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(nibble(block + 4, i));
}

/// Returns nibble `i` with its fifth bit.
int fiveBits(const uint8_t *highs, const uint8_t *nibbles, int i) {
  return nibble(nibbles, i) | (highs[i / 8] >> i % 8 & 1) << 4;
}

void decodeQ5_0(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = {readHalf(block)};
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(fiveBits(block + 2, block + 6, i) - 16);
}

void decodeQ5_1(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = scaleAndLeast(block);
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(fiveBits(block + 4, block + 8, i));
}

void decodeQ8_0(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = {readHalf(block)};
  for (int i = 0; i < 32; ++i)
    q[i] = int8_t(block[2 + i]);
}

void decodeIQ4_NL(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = {readHalf(block)};
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(kNL4Table[nibble(block + 2, i)]);
}

/// Returns half of the power of two that a scale of MXFP4 names. 255 is not
/// treated as a NaN, as in the reference.
float halfPower(uint8_t exponent) {
  uint32_t bits =
      exponent < 2 ? 0x00200000u << exponent : uint32_t(exponent - 1) << 23;
  return std::bit_cast<float>(bits);
}

void decodeMXFP4(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  groups[0] = {halfPower(block[0])};
  for (int i = 0; i < 32; ++i)
    q[i] = int16_t(kE2M1Table[nibble(block + 1, i)]);
}

void decodeNVFP4(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  for (int part = 0; part < 4; ++part) {
    groups[part] = {halfOfE4M3(block[part])};
    for (int i = 0; i < 16; ++i)
      q[16 * part + i] =
          int16_t(kE2M1Table[nibble(block + (4 + 8 * part), i, 16)]);
  }
}

void decodeQ2_K(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  float scale = readHalf(block + 80), least = readHalf(block + 82);
  for (int group = 0; group < 16; ++group)
    groups[group] = {scale, least, low(block[group]), high(block[group])};
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, shift = i / 32 % 4;
    q[i] = block[16 + 32 * half + i % 32] >> 2 * shift & 3;
  }
}

/// Returns scale `i` of a block of Q3_K, 0 to 63.
int scaleOfQ3_K(const uint8_t *scales, int i) {
  int lows = i < 8 ? low(scales[i]) : high(scales[i - 8]);
  return lows | (scales[8 + i % 4] >> 2 * (i / 4) & 3) << 4;
}

void decodeQ3_K(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  const uint8_t *highs = block, *quants = block + 32, *scales = block + 96;
  float scale = readHalf(block + 108);
  for (int group = 0; group < 16; ++group)
    groups[group] = {scale, 0, scaleOfQ3_K(scales, group) - 32, 0};
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, shift = i / 32 % 4;
    int bits = quants[32 * half + i % 32] >> 2 * shift & 3;
    bool isHigh = highs[i % 32] >> (4 * half + shift) & 1;
    q[i] = int16_t(bits - (isHigh ? 0 : 4));
  }
}

/// Decodes the scales and minima of Q4_K and Q5_K.
void decodeGroups(const uint8_t *block, GroupCodes *groups) {
  float scale = readHalf(block), least = readHalf(block + 2);
  const uint8_t *scales = block + 4;
  for (int i = 0; i < 4; ++i) {
    groups[i] = {scale, least, scales[i] & 63, scales[i + 4] & 63};
    groups[i + 4] = {scale, least, low(scales[i + 8]) | (scales[i] >> 6) << 4,
                     high(scales[i + 8]) | (scales[i + 4] >> 6) << 4};
  }
}

void decodeQ4_K(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  decodeGroups(block, groups);
  for (int i = 0; i < 256; ++i)
    q[i] = int16_t(nibble(block + (16 + 32 * (i / 64)), i % 64, 64));
}

void decodeQ5_K(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  decodeGroups(block, groups);
  const uint8_t *highs = block + 16;
  for (int i = 0; i < 256; ++i)
    q[i] = int16_t(nibble(block + (48 + 32 * (i / 64)), i % 64, 64) |
                   (highs[i % 32] >> i / 32 & 1) << 4);
}

void decodeQ6_K(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  float scale = readHalf(block + 208);
  for (int group = 0; group < 16; ++group)
    groups[group] = {scale, 0, int8_t(block[192 + group]), 0};
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, quarter = i / 32 % 4, at = i % 32;
    uint8_t byte = block[64 * half + 32 * (quarter % 2) + at];
    int bits = quarter < 2 ? low(byte) : high(byte);
    bits |= (block[128 + 32 * half + at] >> 2 * quarter & 3) << 4;
    q[i] = int16_t(bits - 32);
  }
}

void decodeIQ4_XS(const uint8_t *block, GroupCodes *groups, int16_t *q) {
  float scale = readHalf(block);
  int highs = block[2] | block[3] << 8;
  for (int group = 0; group < 8; ++group) {
    int of = (block[4 + group / 2] >> 4 * (group % 2) & 15) |
             (highs >> 2 * group & 3) << 4;
    groups[group] = {scale, 0, of - 32, 0};
    for (int i = 0; i < 32; ++i)
      q[32 * group + i] =
          int16_t(kNL4Table[nibble(block + (8 + 16 * group), i)]);
  }
}

using Decoder = void (*)(const uint8_t *block, GroupCodes *groups, int16_t *q);

Decoder findDecoder(WeightType type) {
  switch (type) {
  case WeightType::Q4_0:
    return decodeQ4_0;
  case WeightType::Q4_1:
    return decodeQ4_1;
  case WeightType::Q5_0:
    return decodeQ5_0;
  case WeightType::Q5_1:
    return decodeQ5_1;
  case WeightType::Q8_0:
    return decodeQ8_0;
  case WeightType::Q2_K:
    return decodeQ2_K;
  case WeightType::Q3_K:
    return decodeQ3_K;
  case WeightType::Q4_K:
    return decodeQ4_K;
  case WeightType::Q5_K:
    return decodeQ5_K;
  case WeightType::Q6_K:
    return decodeQ6_K;
  case WeightType::IQ4_NL:
    return decodeIQ4_NL;
  case WeightType::IQ4_XS:
    return decodeIQ4_XS;
  case WeightType::MXFP4:
    return decodeMXFP4;
  case WeightType::NVFP4:
    return decodeNVFP4;
  default:
    return nullptr;
  }
}

} // namespace

float halfOfE4M3(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return 0;
  if (exponent == 0)
    return float(mantissa) * 0x1p-10f;
  return std::bit_cast<float>(uint32_t(exponent + 127 - 8) << 23 |
                              uint32_t(mantissa) << 20);
}

std::optional<WeightFormat> formatOfBlocks(WeightType type) {
  using enum WeightElements;
  using WeightScales::E8M0, WeightScales::E4M3;
  using WeightScales::F16, WeightScales::F16x6, WeightScales::F16x8;
  switch (type) {
  case WeightType::Q4_0:
    return WeightFormat{Int4, 32, F16};
  case WeightType::Q4_1:
    return WeightFormat{Int4, 32, F16, true};
  case WeightType::Q5_0:
    return WeightFormat{Int5, 32, F16};
  case WeightType::Q5_1:
    return WeightFormat{Int5, 32, F16, true};
  case WeightType::Q8_0:
    return WeightFormat{Int8, 32, F16};
  case WeightType::IQ4_NL:
    return WeightFormat{NL4, 32, F16};
  case WeightType::Q2_K:
    return WeightFormat{Int4, 16, F16x8, true};
  case WeightType::Q3_K:
    return WeightFormat{Int4, 16, F16x8};
  case WeightType::Q4_K:
    return WeightFormat{Int4, 32, F16x6, true};
  case WeightType::Q5_K:
    return WeightFormat{Int5, 32, F16x6, true};
  case WeightType::Q6_K:
    return WeightFormat{Int6, 16, F16x8};
  case WeightType::IQ4_XS:
    return WeightFormat{NL4, 32, F16x8};
  case WeightType::MXFP4:
    return WeightFormat{E2M1, 32, E8M0};
  case WeightType::NVFP4:
    return WeightFormat{E2M1, 16, E4M3};
  default:
    return std::nullopt;
  }
}

void decodeCodes(WeightType type, const uint8_t *block, GroupCodes *groups,
                 int16_t *q) {
  if (Decoder decode = findDecoder(type))
    decode(block, groups, q);
}

/// Decodes `count` whole blocks at `bytes`. The type must have blocks.
static void decodeBlocks(WeightType type, const uint8_t *bytes, int64_t count,
                         float *out) {
  std::optional<WeightFormat> format = formatOfBlocks(type);
  if (!format)
    return;
  Decoder decode = findDecoder(type);
  int64_t pitch = int64_t(blockBytes(type)),
          width = int64_t(blockElements(type));
  GroupCodes groups[kMostBlockGroups];
  int16_t q[kMostBlockElements];
  for (int64_t block = 0; block < count; ++block) {
    decode(bytes + block * pitch, groups, q);
    for (int64_t first = 0; first < width; first += format->group) {
      const GroupCodes &group = groups[first / format->group];
      // Without an offset this is -0, which changes no value.
      float scale = group.scaleOf(), offset = group.offsetOf();
      for (int64_t i = first; i < first + format->group; ++i)
        out[block * width + i] = float(q[i]) * scale + offset;
    }
  }
}

void decodeRun(WeightType type, const uint8_t *bytes, int64_t first,
               int64_t count, float *out) {
  int64_t width = int64_t(blockElements(type));
  int64_t pitch = int64_t(blockBytes(type));
  bytes += first / width * pitch;
  if (width == 1)
    return decodeElements(type, bytes, count, out);
  // Only the first and the last block may be needed in part.
  for (int64_t at = first % width; count > 0; at = 0) {
    int64_t run = std::min(count, width - at);
    if (run == width) {
      run = count / width * width;
      decodeBlocks(type, bytes, run / width, out);
    } else {
      float block[kMostBlockElements];
      decodeBlocks(type, bytes, 1, block);
      std::copy_n(block + at, run, out);
    }
    bytes += (at + run) / width * pitch;
    out += run;
    count -= run;
  }
}

} // namespace mtp
