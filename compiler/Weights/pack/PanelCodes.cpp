//===- PanelCodes.cpp - Integers and scales of a panel --------------------===//

#include "compiler/Weights/pack/PanelCodes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mtp {

namespace {

constexpr int64_t kOutputs = QuantizedPanel::kOutputs;

/// Converts to f16. Returns nothing if the value is not an f16.
std::optional<uint16_t> exactHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude == 0)
    return uint16_t(sign);
  int exponent = int(magnitude >> 23) - 127;
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  if (exponent > 15 || exponent < -24)
    return std::nullopt;
  // Below 2^-14 the last bit is 2^-24.
  int dropped = exponent < -14 ? 13 - 14 - exponent : 13;
  if (mantissa & ((1u << dropped) - 1))
    return std::nullopt;
  mantissa >>= dropped;
  uint32_t half =
      exponent < -14 ? mantissa : uint32_t(exponent + 14) * 0x400 + mantissa;
  return uint16_t(sign | half);
}

/// Returns the byte of a scale of one byte, if there is one.
std::optional<uint8_t> exactByte(WeightScales scales, float value) {
  // Only an output that no source has is 0; its sums are never stored.
  if (value == 0)
    return 0;
  if (scales == WeightScales::E8M0) {
    int exponent;
    bool isPower = std::frexp(value, &exponent) == 0.5f;
    exponent += 127;
    if (!isPower || exponent < 0 || exponent > 255)
      return std::nullopt;
    return uint8_t(exponent);
  }
  for (int code = 0; code < 127; ++code)
    if (halfOfE4M3(uint8_t(code)) == value)
      return uint8_t(code);
  return std::nullopt;
}

/// Writes one block.
class BlockWriter {
public:
  BlockWriter(const WeightFormat &format, const PanelCodes &codes,
              int64_t first, int64_t inputs, uint8_t *out)
      : format(format), panel(format.panel(inputs)), codes(codes), first(first),
        inputs(inputs), out(out) {}

  bool write();

private:
  const GroupCodes &group(int64_t output, int64_t number) const {
    return codes.groups[output][first / format.group + number];
  }
  void writeNumber(int64_t at, int64_t output, float value);
  void writeScales(int64_t output);
  void writeByteScales(int64_t output);
  int codeOf(int q);
  void writeSecondLevel6(int64_t output);
  void writeSecondLevel8(int64_t output, bool isOffset);
  void writeGroup(int64_t number, uint8_t *data);

  const WeightFormat &format;
  const QuantizedPanel panel;
  const PanelCodes &codes;
  const int64_t first, inputs;
  uint8_t *const out;
  bool isExact = true;
};

} // namespace

void BlockWriter::writeNumber(int64_t at, int64_t output, float value) {
  if (format.scales == WeightScales::F32) {
    std::memcpy(out + at + output * 4, &value, 4);
    return;
  }
  std::optional<uint16_t> half = exactHalf(value);
  isExact &= half.has_value();
  uint16_t bits = half.value_or(0);
  std::memcpy(out + at + output * 2, &bits, 2);
}

/// Writes the scales of one byte of a block's groups.
void BlockWriter::writeByteScales(int64_t output) {
  for (int64_t g = 0; g < panel.groups(); ++g) {
    std::optional<uint8_t> byte =
        exactByte(format.scales, group(output, g).scaleOf());
    isExact &= byte.has_value();
    out[g * kOutputs + output] = byte.value_or(0);
  }
}

/// Returns an integer as it is stored.
int BlockWriter::codeOf(int q) {
  const int8_t *table = format.info().table;
  if (!table)
    return q + format.bias();
  const int8_t *found = std::find(table, table + 16, int8_t(q));
  // Integers of an output that no source has are 0, which no table needs.
  isExact &= found != table + 16 || q == 0;
  return int(found - table) & 15;
}

void BlockWriter::writeScales(int64_t output) {
  const GroupCodes &codes = group(output, 0);
  bool hasTwoLevels = panel.hasTwoLevels();
  writeNumber(0, output, hasTwoLevels ? codes.scale : codes.scaleOf());
  if (format.hasOffset)
    writeNumber(panel.offsetsAt(), output,
                hasTwoLevels ? codes.least : codes.offsetOf());
}

void BlockWriter::writeSecondLevel6(int64_t output) {
  uint32_t high = 0;
  for (int64_t g = 0; g < panel.groups(); ++g) {
    const GroupCodes &codes = group(output, g);
    isExact &= codes.ofScale >> 6 == 0 && codes.ofLeast >> 6 == 0;
    high |= (uint32_t(codes.ofScale) >> 4 & 3) << 4 * g;
    high |= (uint32_t(codes.ofLeast) >> 4 & 3) << (4 * g + 2);
    out[panel.lowBitsAt() + g * kOutputs + output] =
        uint8_t((codes.ofScale & 15) | (codes.ofLeast & 15) << 4);
  }
  std::memcpy(out + panel.secondLevelAt() + 4 * output, &high, 4);
}

void BlockWriter::writeSecondLevel8(int64_t output, bool isOffset) {
  int64_t at = isOffset ? panel.secondOffsetsAt(inputs) : panel.secondLevelAt();
  for (int64_t g = 0; g < panel.groups(); ++g) {
    const GroupCodes &codes = group(output, g);
    int value = isOffset ? codes.ofLeast : codes.ofScale;
    isExact &= value == int8_t(value);
    out[at + g * kOutputs + output] = uint8_t(value);
  }
}

/// Writes the integers of a group; its bytes are zero before.
void BlockWriter::writeGroup(int64_t number, uint8_t *data) {
  int64_t bits = format.bits(), step = panel.stepInputs();
  int64_t begin = number * format.group;
  int zero = format.info().table ? format.info().table[0] : 0;
  int64_t count = std::min(format.group, inputs - begin);
  for (int64_t i = 0; i < panel.storedInputs(count); ++i) {
    uint8_t *low = data + i / step * panel.stepBytes() + i % 4;
    int64_t inStep = i % step;
    for (int64_t o = 0; o < kOutputs; ++o) {
      int q = codeOf(i < count ? codes.q[o][first + begin + i] : zero);
      isExact &= q >> bits == 0;
      if (bits == 8) {
        low[o * 4] = uint8_t(q);
        continue;
      }
      low[inStep / 8 * 4 * kOutputs + o * 4] |=
          uint8_t((q & 15) << inStep % 8 / 4 * 4);
      if (bits > 4)
        low[step / 8 * 4 * kOutputs + o * 4] |=
            uint8_t(q >> 4 << inStep / 4 * (bits - 4));
    }
  }
}

bool BlockWriter::write() {
  std::memset(out, 0, size_t(panel.bytes()));
  for (int64_t output = 0; output < kOutputs; ++output) {
    if (panel.hasByteScales()) {
      writeByteScales(output);
      continue;
    }
    writeScales(output);
    if (format.scales == WeightScales::F16x6)
      writeSecondLevel6(output);
    if (format.scales == WeightScales::F16x8)
      writeSecondLevel8(output, false);
    if (format.scales == WeightScales::F16x8 && format.hasOffset)
      writeSecondLevel8(output, true);
  }
  uint8_t *data = out + panel.headerBytes(inputs);
  for (int64_t g = 0; g < panel.groups(); ++g)
    writeGroup(g, data + g * panel.dataBytes(format.group));
  return isExact;
}

WeightElements integersOfBits(int64_t bits, int64_t group) {
  if (bits <= 4)
    return WeightElements::Int4;
  // Integers of 5 bits are stored in units of 32.
  if (bits == 5 && group % kQuantGroupStep == 0)
    return WeightElements::Int5;
  return bits <= 6 ? WeightElements::Int6 : WeightElements::Int8;
}

int64_t integerBits(const WeightFormat &format) {
  switch (format.elements) {
  case WeightElements::E2M1:
    return 5;
  case WeightElements::NL4:
    return 8;
  default:
    return format.bits();
  }
}

static WeightScales commonScales(WeightScales a, WeightScales b,
                                 int64_t group) {
  if (a == b && a != WeightScales::E8M0 && a != WeightScales::E4M3 &&
      (a != WeightScales::F16x6 || group % kQuantGroupStep == 0))
    return a;
  auto hasTwoLevels = [](WeightScales scales) {
    return scales == WeightScales::F16x6 || scales == WeightScales::F16x8;
  };
  return hasTwoLevels(a) && hasTwoLevels(b) ? WeightScales::F16x8
                                            : WeightScales::F32;
}

WeightFormat commonFormat(const WeightFormat &a, const WeightFormat &b) {
  if (a == b)
    return a;
  WeightFormat common;
  common.group = std::gcd(a.group, b.group);
  common.elements =
      integersOfBits(std::max(integerBits(a), integerBits(b)), common.group);
  common.scales = commonScales(a.scales, b.scales, common.group);
  common.hasOffset = a.hasOffset || b.hasOffset;
  return common;
}

bool writeBlock(const WeightFormat &format, const PanelCodes &codes,
                int64_t first, int64_t inputs, uint8_t *out) {
  return BlockWriter(format, codes, first, inputs, out).write();
}

void orderGroup(const IntegerFragments &order, const uint8_t *from,
                int64_t inputs, uint8_t *out) {
  int64_t words = inputs * order.bits / 32;
  for (int64_t output = 0; output < kOutputs; ++output)
    std::memcpy(out + IntegerFragments::scaleByte(output), from + 4 * output,
                4);
  from += QuantizedPanel::kScaleBytes;
  for (int64_t i = 0; i < words * kOutputs; ++i) {
    uint32_t word;
    std::memcpy(&word, from + 4 * i, 4);
    word ^= order.signBits();
    std::memcpy(out + order.wordByte(i % kOutputs, i / kOutputs, inputs), &word,
                4);
  }
}

} // namespace mtp
