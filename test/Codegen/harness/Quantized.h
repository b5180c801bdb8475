//===- Quantized.h - Integer weights and rows in tests ----------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_QUANTIZED_H
#define MTP_TEST_CODEGEN_HARNESS_QUANTIZED_H

#include "runtime/schema/WeightFormat.h"
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace mtp::codegen::test {

/// Storage format of weights, the number of inputs that share a scale, and the
/// form of scales and offsets.
struct Quantization {
  WeightElements elements;
  int group;
  WeightScales scales = WeightScales::F32;
  bool hasOffset = false;

  WeightFormat format() const { return {elements, group, scales, hasOffset}; }
  QuantizedPanel panel(int k) const { return format().panel(k); }
  int bits() const { return int(format().bits()); }
  /// Returns the smallest and the largest element.
  std::pair<int, int> range() const;
  /// Returns the number that is added to a stored element, as defined in
  /// FORMAT.md.
  int bias() const;
  /// Returns the keys of a kernel's config.
  std::string config() const;
};

/// Formats that no tensor core multiplies: the formats of GGUF, and
/// combinations that no file has.
inline const std::vector<Quantization> kStoredFormats = [] {
  using enum WeightElements;
  using WeightScales::F16, WeightScales::F16x6, WeightScales::F16x8;
  using WeightScales::E8M0, WeightScales::E4M3;
  return std::vector<Quantization>{
      {Int4, 32, F16},
      {Int4, 32, F16, true},
      {Int5, 32, F16},
      {Int5, 64, F16, true},
      {Int8, 32, F16},
      {Int4, 32, F16x6, true},
      {Int5, 32, F16x6, true},
      {Int6, 16, F16x8},
      {Int4, 16, F16x8, true},
      {Int4, 128, F16x6, true},
      {Int8, 16, WeightScales::F32, true},
      {Int6, 96, F16, true},
      {E2M1, 32, E8M0},
      {E2M1, 16, E4M3},
      {NL4, 32, F16},
      {NL4, 32, F16x8},
  };
}();

/// Element types that have a plain format.
inline const std::vector<WeightElements> kIntegers = [] {
  std::vector<WeightElements> integers;
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.isQuantized && info.isPlain())
      integers.push_back(info.elements);
  return integers;
}();

/// A number that a group multiplies its integers with or adds to them. With two
/// levels it is the product of a block's number and a group's integer.
struct GroupNumber {
  float value = 0;
  float ofBlock = 0;
  int ofGroup = 0;
};

/// A matrix of integers with a scale per row and group, row-major. `offsets` is
/// empty if the format has none.
struct QuantizedMatrix {
  int rows, k;
  Quantization format;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<float> offsets;
  /// Both again, as they are stored.
  std::vector<GroupNumber> storedScales, storedOffsets;

  int groups() const { return (k + format.group - 1) / format.group; }
  size_t groupOf(int row, int i) const {
    return size_t(row) * groups() + i / format.group;
  }
  float offsetAt(int row, int i) const {
    return offsets.empty() ? 0.0f : offsets[groupOf(row, i)];
  }
  /// Returns the value of element (row, i).
  double at(int row, int i) const {
    return double(values[size_t(row) * k + i]) * scales[groupOf(row, i)] +
           offsetAt(row, i);
  }
};

/// Rounds weights `w[n][k]`: to multiples of a group's largest value over 127
/// or 7 if the scales are f32, or else to seeded scales and offsets.
QuantizedMatrix quantizeWeights(const std::vector<float> &w, int n, int k,
                                Quantization format);

/// Returns the packed layout as FORMAT.md defines it. `gated` takes the gate
/// rows first, then the up rows.
std::vector<uint8_t> packQuantized(const QuantizedMatrix &w,
                                   bool gated = false);

/// Returns the packed layout in the order of tensor cores, also as FORMAT.md
/// defines it.
std::vector<uint8_t> packFragments(const QuantizedMatrix &w,
                                   bool gated = false);

/// Returns the layout of a table, row by row.
std::vector<uint8_t> packTable(const QuantizedMatrix &table);

/// Quantises rows `x[rows][stride]`, of which `k` values count, as a kernel
/// does.
QuantizedMatrix quantizeRows(const std::vector<float> &x, int rows, int k,
                             int stride, int group);

/// Returns the dot product of row `row` and output `n` in double precision, and
/// the sum of its products' magnitudes.
std::pair<double, double> exactDot(const QuantizedMatrix &x, int row,
                                   const QuantizedMatrix &w, int n);

/// Returns the sum that a kernel computes for row `row` and output `n`, with
/// equal bits. With several chains, groups go to the chains in turn.
float quantizedDot(const QuantizedMatrix &x, int row, const QuantizedMatrix &w,
                   int n, int chains = 1);

/// Returns true if tensor cores have an order for such elements.
inline bool areInFragments(WeightElements elements) {
  return WeightFormat{elements, 32}.canBeInFragments(32);
}

/// Elements, and whether they are in fragments.
using Format = std::pair<WeightElements, bool>;

inline std::vector<Format> formats() {
  std::vector<Format> formats;
  for (WeightElements elements : kIntegers) {
    formats.push_back({elements, false});
    if (areInFragments(elements))
      formats.push_back({elements, true});
  }
  return formats;
}

inline std::string nameOfFormat(const testing::TestParamInfo<Format> &info) {
  auto [elements, fragments] = info.param;
  return std::string(WeightFormat{elements}.name()) +
         (fragments ? "_fragments" : "");
}

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_QUANTIZED_H
