//===- Quantized.cpp - Integer weights and rows in tests ------------------===//

#include "Quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace mtp::codegen::test;

using namespace mtp;

std::string Quantization::config() const {
  std::string text = "format = <" + std::string(format().name()) +
                     ", group = " + std::to_string(group);
  if (scales != WeightScales::F32)
    text += ", scales = " + std::string(kWeightScales[size_t(scales)]);
  return text + (hasOffset ? ", offset = true>" : ">");
}

std::pair<int, int> Quantization::range() const {
  if (elements == WeightElements::E2M1)
    return {-12, 12};
  if (elements == WeightElements::NL4)
    return {-127, 113};
  int count = 1 << bits();
  if (hasOffset)
    return {0, std::min(count - 1, 127)};
  return {elements == WeightElements::Int8 ? -127 : -count / 2, count / 2 - 1};
}

int Quantization::bias() const { return hasOffset ? 0 : 1 << (bits() - 1); }

/// Integers of the codes of tables, as FORMAT.md lists them.
static constexpr int e2m1[] = {0, 1,  2,  3,  4,  6,  8,  12,
                               0, -1, -2, -3, -4, -6, -8, -12};
static constexpr int nl4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};

/// Returns the table of a format, or null.
static const int *tableOf(const Quantization &format) {
  return format.elements == WeightElements::E2M1  ? e2m1
         : format.elements == WeightElements::NL4 ? nl4
                                                  : nullptr;
}

/// Returns the integer of a table that is nearest to a value.
static int nearestOf(const int *table, float value) {
  return *std::min_element(table, table + 16, [&](int a, int b) {
    return std::fabs(value - float(a)) < std::fabs(value - float(b));
  });
}

static QuantizedMatrix makeMatrix(int rows, int k, Quantization format) {
  QuantizedMatrix m;
  m.rows = rows;
  m.k = k;
  m.format = format;
  m.values.resize(size_t(rows) * k);
  m.scales.resize(size_t(rows) * m.groups());
  return m;
}

namespace {
/// Scales and offsets that a format can store.
struct Numbers {
  Quantization format;
  uint32_t state = 1;

  uint32_t next(uint32_t limit) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % limit;
  }
  /// Returns the scale of a group, or its offset. `ofBlock` is drawn at the
  /// first group of a block.
  GroupNumber draw(float &ofBlock, bool isFirst, bool isOffset) {
    if (format.scales == WeightScales::E8M0) {
      int byte = 118 + int(next(10));
      return {std::ldexp(1.0f, byte - 128), 0, byte};
    }
    if (format.scales == WeightScales::E4M3) {
      int byte = int(next(128)), exponent = byte >> 3, mantissa = byte & 7;
      float value = exponent == 0
                        ? std::ldexp(float(mantissa), -10)
                        : std::ldexp(1.0f + float(mantissa) / 8, exponent - 8);
      return {byte == 127 ? 0.0f : value, 0, byte};
    }
    bool hasTwoLevels = format.panel(1).hasTwoLevels();
    if (isFirst || !hasTwoLevels)
      ofBlock = float(1 + next(900)) / (isOffset ? 2048.0f : 65536.0f);
    int ofGroup = 1;
    if (format.scales == WeightScales::F16x6)
      ofGroup = int(next(64));
    if (format.scales == WeightScales::F16x8)
      ofGroup = int(next(255)) - 127;
    float sign = isOffset && hasTwoLevels ? -1.0f : 1.0f;
    return {sign * ofBlock * float(ofGroup), ofBlock, ofGroup};
  }
};
} // namespace

/// Rounds weights to scales that are drawn.
static QuantizedMatrix drawWeights(const std::vector<float> &w, int n, int k,
                                   Quantization format) {
  QuantizedMatrix m = makeMatrix(n, k, format);
  auto [least, most] = format.range();
  Numbers numbers{format};
  int perBlock = int(format.panel(k).blockGroups());
  for (int row = 0; row < n; ++row) {
    float ofScale = 0, ofOffset = 0;
    for (int g = 0; g < m.groups(); ++g) {
      bool isFirst = g % perBlock == 0;
      m.storedScales.push_back(numbers.draw(ofScale, isFirst, false));
      float scale = m.storedScales.back().value, offset = 0;
      m.scales[size_t(row) * m.groups() + g] = scale;
      if (format.hasOffset) {
        m.storedOffsets.push_back(numbers.draw(ofOffset, isFirst, true));
        offset = m.storedOffsets.back().value;
        m.offsets.push_back(offset);
      }
      int end = std::min((g + 1) * format.group, k);
      for (int i = g * format.group; i < end; ++i) {
        float value =
            scale == 0 ? 1 : (w[size_t(row) * k + i] - offset) / scale;
        value = std::clamp(value, float(least), float(most));
        const int *table = tableOf(format);
        m.values[size_t(row) * k + i] =
            int8_t(table ? nearestOf(table, value) : int(value));
      }
    }
  }
  return m;
}

/// Returns the largest magnitude of a group.
static float largest(const float *x, int count) {
  float most = 0;
  for (int i = 0; i < count; ++i)
    most = std::max(most, std::fabs(x[i]));
  return most;
}

QuantizedMatrix mtp::codegen::test::quantizeWeights(const std::vector<float> &w,
                                                    int n, int k,
                                                    Quantization format) {
  if (!format.format().isPlain())
    return drawWeights(w, n, k, format);
  QuantizedMatrix m = makeMatrix(n, k, format);
  auto [least, most] = format.range();
  for (int row = 0; row < n; ++row)
    for (int g = 0; g < m.groups(); ++g) {
      int first = g * format.group, count = std::min(format.group, k - first);
      const float *from = &w[size_t(row) * k + first];
      float scale = largest(from, count) / float(most);
      m.scales[size_t(row) * m.groups() + g] = scale;
      for (int i = 0; i < count && scale != 0; ++i)
        m.values[size_t(row) * k + first + i] =
            int8_t(std::clamp(int(std::lrint(from[i] / scale)), least, most));
    }
  return m;
}

namespace {
/// Writes panels, one block after another, as FORMAT.md defines them.
struct PanelWriter {
  const QuantizedMatrix &w;
  bool gated;
  std::vector<uint8_t> bytes;

  int outputs() const { return gated ? w.rows / 2 : w.rows; }
  /// Returns the row of an output of a panel, or -1 if there is none.
  int rowOf(int panel, int lane) const {
    int output = (gated ? panel / 2 : panel) * 32 + lane;
    if (output >= outputs())
      return -1;
    return gated && panel % 2 ? outputs() + output : output;
  }

  /// Writes the numbers of a block for all outputs, as f32 or f16.
  void writeNumbers(int panel, int group, bool isOffset) {
    for (int lane = 0; lane < 32; ++lane) {
      GroupNumber number = numberOf(rowOf(panel, lane), group, isOffset);
      float value =
          w.format.panel(1).hasTwoLevels() ? number.ofBlock : number.value;
      if (w.format.scales == WeightScales::F32)
        append(value);
      else
        append(_Float16(value));
    }
  }
  template <typename T>
  void append(T value) {
    uint8_t raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
  }
  GroupNumber numberOf(int row, int group, bool isOffset) const {
    if (row < 0)
      return {};
    size_t at = size_t(row) * w.groups() + group;
    if (w.storedScales.empty())
      return {w.scales[at], 0, 0};
    return (isOffset ? w.storedOffsets : w.storedScales)[at];
  }
  int secondOf(int panel, int lane, int group, bool isOffset) const {
    return numberOf(rowOf(panel, lane), group, isOffset).ofGroup;
  }

  void writeSecondLevel6(int panel, int first, int groups) {
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t word = 0;
      for (int g = 0; g < groups; ++g) {
        word |= uint32_t(secondOf(panel, lane, first + g, false) >> 4) << 4 * g;
        word |= uint32_t(secondOf(panel, lane, first + g, true) >> 4)
                << (4 * g + 2);
      }
      append(word);
    }
    for (int g = 0; g < groups; ++g)
      for (int lane = 0; lane < 32; ++lane)
        append(uint8_t((secondOf(panel, lane, first + g, false) & 15) |
                       (secondOf(panel, lane, first + g, true) & 15) << 4));
  }
  void writeSecondLevel8(int panel, int first, int groups, bool isOffset) {
    for (int g = 0; g < groups; ++g)
      for (int lane = 0; lane < 32; ++lane)
        append(int8_t(secondOf(panel, lane, first + g, isOffset)));
  }

  void writeHeader(int panel, int first, int groups) {
    if (w.format.panel(1).hasByteScales()) {
      for (int g = 0; g < groups; ++g)
        for (int lane = 0; lane < 32; ++lane)
          append(uint8_t(secondOf(panel, lane, first + g, false)));
      bytes.resize((bytes.size() + 63) / 64 * 64);
      return;
    }
    writeNumbers(panel, first, false);
    if (w.format.hasOffset)
      writeNumbers(panel, first, true);
    if (w.format.scales == WeightScales::F16x6)
      writeSecondLevel6(panel, first, groups);
    if (w.format.scales == WeightScales::F16x8)
      writeSecondLevel8(panel, first, groups, false);
    if (w.format.scales == WeightScales::F16x8 && w.format.hasOffset)
      writeSecondLevel8(panel, first, groups, true);
    bytes.resize((bytes.size() + 63) / 64 * 64);
  }

  /// Returns the integer of an input as it is stored.
  int storedAt(int row, int group, int i) const {
    int input = group * w.format.group + i;
    int end = std::min((group + 1) * w.format.group, w.k);
    int value =
        row >= 0 && input < end ? w.values[size_t(row) * w.k + input] : 0;
    if (const int *table = tableOf(w.format))
      return int(std::find(table, table + 16, value) - table) & 15;
    return value + w.format.bias();
  }
  void writeGroup(int panel, int group) {
    int bits = w.format.bits();
    int inputs = std::min(w.format.group, w.k - group * w.format.group);
    int step = bits == 8 ? 4 : bits == 4 ? 8 : bits == 6 ? 16 : 32;
    for (int first = 0; first < inputs; first += step) {
      size_t base = bytes.size();
      bytes.resize(base + size_t(32) * step * bits / 8);
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < step; ++i) {
          int value = storedAt(rowOf(panel, lane), group, first + i);
          uint8_t *word = &bytes[base + lane * 4 + i % 4];
          if (bits == 8) {
            *word = uint8_t(value);
            continue;
          }
          word[i / 8 * 128] |= uint8_t((value & 15) << i % 8 / 4 * 4);
          if (bits > 4)
            word[step / 8 * 128] |= uint8_t(value >> 4 << i / 4 * (bits - 4));
        }
    }
  }
};
} // namespace

std::vector<uint8_t> mtp::codegen::test::packQuantized(const QuantizedMatrix &w,
                                                       bool gated) {
  PanelWriter writer{w, gated, {}};
  int panels = (writer.outputs() + 31) / 32 * (gated ? 2 : 1);
  int perBlock = int(w.format.panel(w.k).blockGroups());
  for (int panel = 0; panel < panels; ++panel)
    for (int first = 0; first < w.groups(); first += perBlock) {
      int groups = std::min(perBlock, w.groups() - first);
      writer.writeHeader(panel, first, groups);
      for (int g = 0; g < groups; ++g)
        writer.writeGroup(panel, first + g);
    }
  return writer.bytes;
}

namespace {
/// Writes panels in fragments, one integer after another.
struct FragmentWriter {
  const QuantizedMatrix &w;
  bool gated;
  std::vector<uint8_t> bytes;

  int outputs() const { return gated ? w.rows / 2 : w.rows; }
  /// Returns the row of an output of a panel, or -1 if there is none.
  int rowOf(int panel, int output) const {
    output += (gated ? panel / 2 : panel) * 32;
    if (output >= outputs())
      return -1;
    return gated && panel % 2 ? outputs() + output : output;
  }
  int valueOf(int row, int input) const {
    return row < 0 ? 0 : w.values[size_t(row) * w.k + input];
  }

  void writeScales(int panel, int group) {
    for (int tile = 0; tile < 2; ++tile)
      for (int i = 0; i < 16; ++i) {
        int row = rowOf(panel, 16 * tile + i / 2 + i % 2 * 8);
        float scale = row < 0 ? 0 : w.scales[size_t(row) * w.groups() + group];
        const auto *from = reinterpret_cast<const uint8_t *>(&scale);
        bytes.insert(bytes.end(), from, from + 4);
      }
  }

  /// Writes the words of a lane for 32 inputs from `first` on.
  void writeLane(int panel, int tile, int lane, int first) {
    int input = first + 8 * (lane % 4);
    auto row = [&](int i) {
      return rowOf(panel, 16 * tile + lane / 4 + 8 * i);
    };
    if (w.format.bits() == 8) {
      for (int word = 0; word < 4; ++word)
        for (int b = 0; b < 4; ++b)
          bytes.push_back(
              uint8_t(valueOf(row(word % 2), input + word / 2 * 4 + b)));
      return;
    }
    for (int word = 0; word < 2; ++word)
      for (int b = 0; b < 4; ++b)
        bytes.push_back(uint8_t((valueOf(row(word), input + b) & 15) |
                                valueOf(row(word), input + 4 + b) << 4));
  }

  void writeGroup(int panel, int group) {
    int first = group * w.format.group;
    int end = std::min(first + w.format.group, w.k);
    writeScales(panel, group);
    int together = w.format.bits() == 8 ? 32 : 64;
    for (int tile = 0; tile < 2; ++tile)
      for (int at = first; at < end; at += together)
        for (int lane = 0; lane < 32; ++lane)
          for (int unit = at; unit < std::min(at + together, end); unit += 32)
            writeLane(panel, tile, lane, unit);
  }
};
} // namespace

std::vector<uint8_t> mtp::codegen::test::packFragments(const QuantizedMatrix &w,
                                                       bool gated) {
  FragmentWriter writer{w, gated, {}};
  int panels = (writer.outputs() + 31) / 32 * (gated ? 2 : 1);
  for (int panel = 0; panel < panels; ++panel)
    for (int group = 0; group < w.groups(); ++group)
      writer.writeGroup(panel, group);
  return writer.bytes;
}

std::vector<uint8_t>
mtp::codegen::test::packTable(const QuantizedMatrix &table) {
  int bits = table.format.bits(), together = bits == 8 ? 4 : 8;
  std::vector<uint8_t> packed;
  for (int row = 0; row < table.rows; ++row)
    for (int g = 0; g < table.groups(); ++g) {
      int first = g * table.format.group;
      int inputs = std::min(table.format.group, table.k - first);
      int stored = (inputs + together - 1) / together * together;
      size_t base = packed.size();
      packed.resize(base + 4 + stored * bits / 8);
      std::memcpy(&packed[base], &table.scales[row * table.groups() + g], 4);
      uint8_t *data = &packed[base + 4];
      for (int i = 0; i < stored; ++i) {
        int value = i < inputs ? table.values[row * table.k + first + i] : 0;
        value += table.format.bias();
        if (bits == 8)
          data[i] = uint8_t(value);
        else
          data[i / 8 * 4 + i % 4] |= uint8_t(value << (i % 8 / 4 * 4));
      }
    }
  return packed;
}

QuantizedMatrix mtp::codegen::test::quantizeRows(const std::vector<float> &x,
                                                 int rows, int k, int stride,
                                                 int group) {
  QuantizedMatrix m = makeMatrix(rows, k, {WeightElements::Int8, group});
  for (int row = 0; row < rows; ++row)
    for (int g = 0; g < m.groups(); ++g) {
      int first = g * group, count = std::min(group, k - first);
      const float *from = &x[size_t(row) * stride + first];
      float most = largest(from, count);
      float perUnit = most > 1e-36f ? 127.0f / most : 0.0f;
      m.scales[size_t(row) * m.groups() + g] = most / 127.0f;
      for (int i = 0; i < count; ++i)
        m.values[size_t(row) * k + first + i] =
            int8_t(std::fma(from[i], perUnit, 12582912.0f) - 12582912.0f);
    }
  return m;
}

std::pair<double, double> mtp::codegen::test::exactDot(const QuantizedMatrix &x,
                                                       int row,
                                                       const QuantizedMatrix &w,
                                                       int n) {
  double sum = 0, magnitude = 0;
  for (int i = 0; i < w.k; ++i) {
    double product = x.at(row, i) * w.at(n, i);
    sum += product;
    magnitude += std::fabs(product);
  }
  return {sum, magnitude};
}

float mtp::codegen::test::quantizedDot(const QuantizedMatrix &x, int row,
                                       const QuantizedMatrix &w, int n,
                                       int chains) {
  std::vector<float> sums(std::min(chains, w.groups()));
  for (int g = 0; g < w.groups(); ++g) {
    int first = g * w.format.group;
    int dot = 0, total = 0;
    for (int i = first; i < std::min(first + w.format.group, w.k); ++i) {
      int8_t value = x.values[size_t(row) * x.k + i];
      dot += value * w.values[size_t(n) * w.k + i];
      total += value;
    }
    float rowScale = x.scales[size_t(row) * x.groups() + g];
    float part = float(dot) * rowScale;
    float &sum = sums[g % sums.size()];
    sum = std::fma(part, w.scales[size_t(n) * w.groups() + g], sum);
    if (!w.offsets.empty())
      sum = std::fma(float(total) * rowScale,
                     w.offsets[size_t(n) * w.groups() + g], sum);
  }
  return std::accumulate(sums.begin() + 1, sums.end(), sums[0]);
}
