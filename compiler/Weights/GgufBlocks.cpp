//===- GgufBlocks.cpp - Block formats of GGUF tensors ---------------------===//
//
// Each function decodes one block. Products of scales and integers have at most
// 24 bits, so only the subtraction or addition of a minimum rounds.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/GgufBlocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mtp {

namespace {

/// Largest number of elements of a block.
constexpr int64_t kMostBlockElements = 256;
/// The values of IQ4_NL and IQ4_XS.
constexpr int kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};
/// The values of MXFP4 and NVFP4, doubled.
constexpr int kFloat4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                             0, -1, -2, -3, -4, -6, -8, -12};

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

void decodeQ4_0(const uint8_t *block, float *out) {
  float scale = readHalf(block);
  for (int i = 0; i < 32; ++i)
    out[i] = float(nibble(block + 2, i) - 8) * scale;
}

void decodeQ4_1(const uint8_t *block, float *out) {
  float scale = readHalf(block), least = readHalf(block + 2);
  for (int i = 0; i < 32; ++i)
    out[i] = float(nibble(block + 4, i)) * scale + least;
}

/// Returns nibble `i` with its fifth bit.
int fiveBits(const uint8_t *highs, const uint8_t *nibbles, int i) {
  return nibble(nibbles, i) | (highs[i / 8] >> i % 8 & 1) << 4;
}

void decodeQ5_0(const uint8_t *block, float *out) {
  float scale = readHalf(block);
  for (int i = 0; i < 32; ++i)
    out[i] = float(fiveBits(block + 2, block + 6, i) - 16) * scale;
}

void decodeQ5_1(const uint8_t *block, float *out) {
  float scale = readHalf(block), least = readHalf(block + 2);
  for (int i = 0; i < 32; ++i)
    out[i] = float(fiveBits(block + 4, block + 8, i)) * scale + least;
}

void decodeQ8_0(const uint8_t *block, float *out) {
  float scale = readHalf(block);
  for (int i = 0; i < 32; ++i)
    out[i] = float(int8_t(block[2 + i])) * scale;
}

void decodeIQ4_NL(const uint8_t *block, float *out) {
  float scale = readHalf(block);
  for (int i = 0; i < 32; ++i)
    out[i] = float(kNonLinear[nibble(block + 2, i)]) * scale;
}

/// Returns half of the power of two that a scale of MXFP4 names. 255 is not
/// treated as a NaN, as in the reference.
float halfPower(uint8_t exponent) {
  uint32_t bits =
      exponent < 2 ? 0x00200000u << exponent : uint32_t(exponent - 1) << 23;
  return std::bit_cast<float>(bits);
}

void decodeMXFP4(const uint8_t *block, float *out) {
  float scale = halfPower(block[0]);
  for (int i = 0; i < 32; ++i)
    out[i] = float(kFloat4[nibble(block + 1, i)]) * scale;
}

/// Returns half of an unsigned E4M3 number.
float halfOfE4M3(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return 0;
  if (exponent == 0)
    return float(mantissa) * 0x1p-10f;
  return std::bit_cast<float>(uint32_t(exponent + 127 - 8) << 23 |
                              uint32_t(mantissa) << 20);
}

void decodeNVFP4(const uint8_t *block, float *out) {
  for (int part = 0; part < 4; ++part) {
    float scale = halfOfE4M3(block[part]);
    for (int i = 0; i < 16; ++i)
      out[16 * part + i] =
          float(kFloat4[nibble(block + 4 + 8 * part, i, 16)]) * scale;
  }
}

void decodeQ2_K(const uint8_t *block, float *out) {
  const uint8_t *scales = block, *quants = block + 16;
  float scale = readHalf(block + 80), least = readHalf(block + 82);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, shift = i / 32 % 4;
    int bits = quants[32 * half + i % 32] >> 2 * shift & 3;
    uint8_t both = scales[i / 16];
    out[i] = scale * float(low(both)) * float(bits) - least * float(high(both));
  }
}

/// Returns scale `i` of a block of Q3_K, 0 to 63.
int scaleOfQ3_K(const uint8_t *scales, int i) {
  int lows = i < 8 ? low(scales[i]) : high(scales[i - 8]);
  return lows | (scales[8 + i % 4] >> 2 * (i / 4) & 3) << 4;
}

void decodeQ3_K(const uint8_t *block, float *out) {
  const uint8_t *highs = block, *quants = block + 32, *scales = block + 96;
  float scale = readHalf(block + 108);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, shift = i / 32 % 4;
    int bits = quants[32 * half + i % 32] >> 2 * shift & 3;
    bool isHigh = highs[i % 32] >> (4 * half + shift) & 1;
    out[i] = scale * float(scaleOfQ3_K(scales, i / 16) - 32) *
             float(bits - (isHigh ? 0 : 4));
  }
}

/// The scale and the minimum of one group of Q4_K and Q5_K.
struct ScaleAndLeast {
  int scale, least;
};

ScaleAndLeast scalesOfGroup(const uint8_t *scales, int group) {
  if (group < 4)
    return {scales[group] & 63, scales[group + 4] & 63};
  return {low(scales[group + 4]) | (scales[group - 4] >> 6) << 4,
          high(scales[group + 4]) | (scales[group] >> 6) << 4};
}

void decodeQ4_K(const uint8_t *block, float *out) {
  float scale = readHalf(block), least = readHalf(block + 2);
  for (int group = 0; group < 8; ++group) {
    ScaleAndLeast of = scalesOfGroup(block + 4, group);
    const uint8_t *quants = block + 16 + 32 * (group / 2);
    for (int i = 0; i < 32; ++i) {
      int bits = group % 2 ? high(quants[i]) : low(quants[i]);
      out[32 * group + i] =
          scale * float(of.scale) * float(bits) - least * float(of.least);
    }
  }
}

void decodeQ5_K(const uint8_t *block, float *out) {
  float scale = readHalf(block), least = readHalf(block + 2);
  const uint8_t *highs = block + 16;
  for (int group = 0; group < 8; ++group) {
    ScaleAndLeast of = scalesOfGroup(block + 4, group);
    const uint8_t *quants = block + 48 + 32 * (group / 2);
    for (int i = 0; i < 32; ++i) {
      int bits = group % 2 ? high(quants[i]) : low(quants[i]);
      bits += (highs[i] >> group & 1) * 16;
      out[32 * group + i] =
          scale * float(of.scale) * float(bits) - least * float(of.least);
    }
  }
}

void decodeQ6_K(const uint8_t *block, float *out) {
  float scale = readHalf(block + 208);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, quarter = i / 32 % 4, at = i % 32;
    uint8_t byte = block[64 * half + 32 * (quarter % 2) + at];
    int bits = quarter < 2 ? low(byte) : high(byte);
    bits |= (block[128 + 32 * half + at] >> 2 * quarter & 3) << 4;
    out[i] = scale * float(int8_t(block[192 + i / 16])) * float(bits - 32);
  }
}

void decodeIQ4_XS(const uint8_t *block, float *out) {
  float scale = readHalf(block);
  int highs = block[2] | block[3] << 8;
  for (int group = 0; group < 8; ++group) {
    int of = (block[4 + group / 2] >> 4 * (group % 2) & 15) |
             (highs >> 2 * group & 3) << 4;
    for (int i = 0; i < 32; ++i)
      out[32 * group + i] =
          scale * float(of - 32) *
          float(kNonLinear[nibble(block + 8 + 16 * group, i)]);
  }
}

using Decoder = void (*)(const uint8_t *block, float *out);

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

/// Decodes `count` whole blocks at `bytes`. The type must have blocks.
void decodeBlocks(WeightType type, const uint8_t *bytes, int64_t count,
                  float *out) {
  Decoder decode = findDecoder(type);
  uint64_t pitch = blockBytes(type), width = blockElements(type);
  for (int64_t i = 0; i < count && decode; ++i)
    decode(bytes + uint64_t(i) * pitch, out + uint64_t(i) * width);
}

} // namespace

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
