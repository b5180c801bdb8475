//===- Quantized.h - Integer weights and rows in tests ----------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_QUANTIZED_H
#define MTP_TEST_CODEGEN_QUANTIZED_H

#include "runtime/schema/WeightFormat.h"
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace mtp::codegen::test {

/// Storage format of weights, and the number of inputs that share a scale.
struct Quantization {
  WeightElements elements;
  int group;

  WeightFormat format() const { return {elements, group}; }
  int bits() const { return int(format().bits()); }
  /// Returns the smallest and the largest element.
  std::pair<int, int> range() const;
  /// Returns the number that is added to a stored element, as defined in
  /// FORMAT.md.
  int bias() const;
  /// Returns the keys of a kernel's config.
  std::string config() const;
};

/// Element types whose products are products of integers.
inline const std::vector<WeightElements> kIntegers = [] {
  std::vector<WeightElements> integers;
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.isQuantized && info.isPlain())
      integers.push_back(info.elements);
  return integers;
}();

/// A matrix of integers with a scale per row and group, row-major.
struct QuantizedMatrix {
  int rows, k;
  Quantization format;
  std::vector<int8_t> values;
  std::vector<float> scales;

  int groups() const { return (k + format.group - 1) / format.group; }
  /// Returns the value of element (row, i).
  double at(int row, int i) const {
    return double(values[size_t(row) * k + i]) *
           scales[size_t(row) * groups() + i / format.group];
  }
};

/// Rounds weights `w[n][k]` to the nearest multiple of a group's largest value
/// over 127 or 7.
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

#endif // MTP_TEST_CODEGEN_QUANTIZED_H
