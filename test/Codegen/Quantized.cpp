//===- Quantized.cpp - Integer weights and rows in tests ------------------===//

#include "Quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace mtp::codegen::test;

std::string Quantization::config() const {
  return "format = <" + std::string(format().name()) +
         ", group = " + std::to_string(group) + ">";
}

std::pair<int, int> Quantization::range() const {
  switch (elements) {
  case WeightElements::Int8:
    return {-127, 127};
  case WeightElements::Int4:
    return {-8, 7};
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
    break; // Not quantised.
  }
  return {};
}

int Quantization::bias() const {
  switch (elements) {
  case WeightElements::Int8:
    return 128;
  case WeightElements::Int4:
    return 8;
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
    break; // Not quantised.
  }
  return 0;
}

static QuantizedMatrix makeMatrix(int rows, int k, Quantization format) {
  QuantizedMatrix m{rows, k, format, {}, {}};
  m.values.resize(size_t(rows) * k);
  m.scales.resize(size_t(rows) * m.groups());
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

std::vector<uint8_t> mtp::codegen::test::packQuantized(const QuantizedMatrix &w,
                                                       bool gated) {
  int outputs = gated ? w.rows / 2 : w.rows, tasks = (outputs + 31) / 32;
  int bits = w.format.bits(), together = bits == 8 ? 4 : 8;
  std::vector<uint8_t> packed;
  for (int panel = 0; panel < (gated ? 2 * tasks : tasks); ++panel)
    for (int g = 0; g < w.groups(); ++g) {
      int first = g * w.format.group;
      int inputs = std::min(w.format.group, w.k - first);
      int stored = (inputs + together - 1) / together * together;
      size_t base = packed.size();
      packed.resize(base + 128 + 32 * stored * bits / 8);
      uint8_t *data = &packed[base + 128];
      for (int lane = 0; lane < 32; ++lane) {
        int output = (gated ? panel / 2 : panel) * 32 + lane;
        int row = gated && panel % 2 ? outputs + output : output;
        bool real = output < outputs;
        float scale = real ? w.scales[size_t(row) * w.groups() + g] : 0.0f;
        std::memcpy(&packed[base + lane * 4], &scale, 4);
        for (int i = 0; i < stored; ++i) {
          int value =
              real && i < inputs ? w.values[size_t(row) * w.k + first + i] : 0;
          value += w.format.bias();
          if (bits == 8)
            data[i / 4 * 128 + lane * 4 + i % 4] = uint8_t(value);
          else
            data[i / 8 * 128 + lane * 4 + i % 4] |=
                uint8_t(value << (i % 8 / 4 * 4));
        }
      }
    }
  return packed;
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

float mtp::codegen::test::quantizedDot(const QuantizedMatrix &x, int row,
                                       const QuantizedMatrix &w, int n,
                                       int chains) {
  std::vector<float> sums(std::min(chains, w.groups()));
  for (int g = 0; g < w.groups(); ++g) {
    int first = g * w.format.group;
    int dot = 0;
    for (int i = first; i < std::min(first + w.format.group, w.k); ++i)
      dot +=
          int(x.values[size_t(row) * x.k + i]) * w.values[size_t(n) * w.k + i];
    float part = float(dot) * x.scales[size_t(row) * x.groups() + g];
    float &sum = sums[g % sums.size()];
    sum = std::fma(part, w.scales[size_t(n) * w.groups() + g], sum);
  }
  return std::accumulate(sums.begin() + 1, sums.end(), sums[0]);
}
