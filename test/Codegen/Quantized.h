//===- Quantized.h - Integer weights and rows in tests ----------*- C++ -*-===//

#ifndef TEST_CODEGEN_QUANTIZED_H
#define TEST_CODEGEN_QUANTIZED_H

#include "runtime/schema/WeightFormat.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtp::codegen::test {

/// How weights are stored, and the inputs that share a scale.
struct Quantization {
  WeightElements elements;
  int group;

  WeightFormat format() const { return {elements, group}; }
  int bits() const { return int(format().bits()); }
  /// What fits an element, the least and the most.
  std::pair<int, int> range() const;
  /// What is added to an element where it is stored, as FORMAT.md has it.
  int bias() const;
  /// The keys of a kernel's config.
  std::string config() const;
};

/// The elements whose products are of integers.
inline const std::vector<WeightElements> kIntegers = [] {
  std::vector<WeightElements> integers;
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.isQuantized)
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
  /// What element (row, i) stands for.
  double at(int row, int i) const {
    return double(values[size_t(row) * k + i]) *
           scales[size_t(row) * groups() + i / format.group];
  }
};

/// Rounds weights `w[n][k]` to the nearest multiple of a group's largest value
/// over 127 or 7.
QuantizedMatrix quantizeWeights(const std::vector<float> &w, int n, int k,
                                Quantization format);

/// The packed layout, written down as FORMAT.md has it. `gated` takes the gate
/// rows first, then the up rows.
std::vector<uint8_t> packQuantized(const QuantizedMatrix &w,
                                   bool gated = false);

/// The same in the order of tensor cores, also as FORMAT.md has it.
std::vector<uint8_t> packFragments(const QuantizedMatrix &w,
                                   bool gated = false);

/// The layout of a table, row by row.
std::vector<uint8_t> packTable(const QuantizedMatrix &table);

/// What a kernel makes of rows `x[rows][stride]`, of which `k` values count.
QuantizedMatrix quantizeRows(const std::vector<float> &x, int rows, int k,
                             int stride, int group);

/// The sum that a kernel computes for row `row` and output `n`: the same bits.
/// Where sums are in several chains, groups take turns in which one has them.
float quantizedDot(const QuantizedMatrix &x, int row, const QuantizedMatrix &w,
                   int n, int chains = 1);

} // namespace mtp::codegen::test

#endif // TEST_CODEGEN_QUANTIZED_H
