//===- KeptPanels.h - The values of packed panels ---------------*- C++ -*-===//
//
// Reads packed panels as FORMAT.md defines them, and compares each value with
// the tensor's, bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_WEIGHTS_KEPTPANELS_H
#define MTP_TEST_WEIGHTS_KEPTPANELS_H

#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightPacker.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace mtp::test {

inline float halfAt(const uint8_t *bytes) {
  float value;
  decodeElements(WeightType::F16, bytes, 1, &value);
  return value;
}

/// Reads values of a panel.
struct PanelReader {
  WeightFormat format;
  int64_t k;
  const uint8_t *panel;

  /// Returns the first level of a scale, or of an offset.
  float firstLevel(const uint8_t *block, int64_t output, bool isOffset) const {
    int64_t size = format.scales == WeightScales::F32 ? 4 : 2;
    const uint8_t *at = block + (isOffset ? 32 * size : 0) + output * size;
    float value;
    if (size == 2)
      return halfAt(at);
    std::memcpy(&value, at, 4);
    return value;
  }
  /// Returns the second level; 1 if there is none.
  int secondLevel(const uint8_t *block, int64_t groups, int64_t g,
                  int64_t output, bool isOffset) const {
    const uint8_t *at = block + 64 * (format.hasOffset ? 2 : 1);
    if (format.scales == WeightScales::F16x8)
      return int8_t(at[32 * (isOffset ? groups + g : g) + output]);
    if (format.scales != WeightScales::F16x6)
      return 1;
    uint32_t word;
    std::memcpy(&word, at + 4 * output, 4);
    uint8_t low = at[128 + 32 * g + output];
    int shift = int(4 * g) + (isOffset ? 2 : 0);
    return (isOffset ? low >> 4 : low & 15) | int(word >> shift & 3) << 4;
  }
  int integer(const uint8_t *data, int64_t i, int64_t output) const {
    int64_t bits = format.bits();
    int64_t step = bits == 8 ? 4 : bits == 4 ? 8 : bits == 6 ? 16 : 32;
    data += i / step * step * bits * 4;
    i %= step;
    const uint8_t *word = data + output * 4 + i % 4;
    if (bits == 8)
      return valueOf(*word);
    int q = word[i / 8 * 128] >> (i % 8 / 4 * 4) & 15;
    if (bits > 4)
      q |= (word[step / 8 * 128] >> (i / 4 * (bits - 4)) &
            ((1 << (bits - 4)) - 1))
           << 4;
    return valueOf(q);
  }

  /// Returns a scale of one byte.
  float byteScale(uint8_t byte) const {
    if (format.scales == WeightScales::E8M0)
      return std::ldexp(1.0f, byte - 128);
    int exponent = byte >> 3 & 15, mantissa = byte & 7;
    if (byte == 127)
      return 0;
    return exponent == 0 ? std::ldexp(float(mantissa), -10)
                         : std::ldexp(1.0f + float(mantissa) / 8, exponent - 8);
  }
  /// Returns the integer of a code.
  int valueOf(int q) const {
    constexpr int e2m1[] = {0, 1,  2,  3,  4,  6,  8,  12,
                            0, -1, -2, -3, -4, -6, -8, -12};
    constexpr int nl4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                           1,    13,   25,  38,  53,  69,  89,  113};
    if (format.elements == WeightElements::E2M1)
      return e2m1[q];
    return format.elements == WeightElements::NL4 ? nl4[q] : q - format.bias();
  }

  float at(int64_t output, int64_t input) const {
    bool hasTwoLevels = format.panel(k).hasTwoLevels();
    bool hasBytes = format.panel(k).hasByteScales();
    int64_t block = hasTwoLevels ? 256
                    : hasBytes   ? 2 * format.group
                                 : format.group;
    const uint8_t *from = panel;
    for (int64_t first = 0; first + block <= input; first += block)
      from += format.panelBytes(block, 32);
    int64_t inputs = std::min(block, k - input / block * block);
    int64_t groups = (inputs + format.group - 1) / format.group;
    int64_t g = input % block / format.group;
    // The last group may be short. Its integers end with a whole step.
    int64_t step = format.panel(k).stepInputs();
    int64_t stored = (inputs % format.group + step - 1) / step * step +
                     inputs / format.group * format.group;
    const uint8_t *data = from + format.panelBytes(inputs, 32) +
                          (g * format.group - stored) * format.bits() * 4;
    double q = integer(data, input % format.group, output);
    double scale =
        hasBytes ? byteScale(from[32 * g + output])
                 : firstLevel(from, output, false) *
                       double(secondLevel(from, groups, g, output, false));
    double offset = -0.0;
    if (format.hasOffset)
      offset = firstLevel(from, output, true) *
               double(secondLevel(from, groups, g, output, true)) *
               (hasTwoLevels ? -1 : 1);
    return float(scale * q + offset);
  }
};

inline std::vector<uint8_t> packed(const WeightSet &set,
                                   const WeightRecipe &recipe) {
  std::vector<uint8_t> bytes;
  Status status = packWeight(set, recipe, [&](auto piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return okStatus();
  });
  EXPECT_TRUE(status.isOk()) << status.toString();
  return bytes;
}

/// Packs in the recipe's format of integers, or in the format that keeps the
/// weight, and compares all values.
inline void expectKept(const WeightSet &set, WeightRecipe recipe) {
  if (!recipe.format.isQuantized()) {
    Result<std::optional<WeightFormat>> format = findKeptFormat(set, recipe);
    ASSERT_TRUE(format.isOk() && *format) << format.status().toString();
    ASSERT_TRUE((*format)->isValid()) << (*format)->text();
    recipe.format = **format;
  }
  std::vector<uint8_t> bytes = packed(set, recipe);
  ASSERT_EQ(int64_t(bytes.size()), packedBytes(recipe));
  int64_t row = 0;
  for (const WeightSource &source : recipe.sources) {
    Result<WeightRows> rows = WeightRows::resolve(set, source, 0);
    std::vector<float> expected(size_t(rows->rows() * recipe.k));
    rows->readFlat(0, int64_t(expected.size()), expected.data());
    for (int64_t i = 0; i < rows->rows(); ++i, ++row) {
      PanelReader reader{recipe.format, recipe.k,
                         bytes.data() + row / 32 * panelBytes(recipe)};
      for (int64_t c = 0; c < recipe.k; ++c) {
        float value = reader.at(row % 32, c);
        float wanted = expected[size_t(i * recipe.k + c)];
        // Offsets and tables lose the sign of a zero.
        bool hasSign = !recipe.format.hasOffset && !recipe.format.info().table;
        if (!hasSign && value == 0 && wanted == 0)
          continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(value),
                  std::bit_cast<uint32_t>(wanted))
            << recipe.format.text() << ", row " << row << ", column " << c;
      }
    }
  }
}

} // namespace mtp::test

#endif // MTP_TEST_WEIGHTS_KEPTPANELS_H
