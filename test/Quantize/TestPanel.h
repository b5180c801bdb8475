//===- TestPanel.h - Values of a panel for tests ----------------*- C++ -*-===//

#ifndef MTP_TEST_QUANTIZE_TESTPANEL_H
#define MTP_TEST_QUANTIZE_TESTPANEL_H

#include "compiler/Quantize/Grid.h"

#include <random>
#include <span>
#include <vector>

namespace mtp::test {

/// Returns normally distributed values of 32 outputs, whose variance differs
/// from output to output.
inline std::vector<float> randomPanel(int64_t inputs, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < inputs * Grid::kOutputs; ++i)
    values.push_back(normal(generator) * float(1 + i % 5));
  return values;
}

/// Returns the weighted squared error of one output.
inline double errorOf(const Grid &grid, const GridCodes &codes,
                      std::span<const float> values,
                      std::span<const float> importance, int64_t output) {
  double error = 0;
  int64_t inputs = int64_t(values.size()) / Grid::kOutputs;
  for (int64_t i = 0; i < inputs; ++i) {
    double off = double(values[size_t(i * Grid::kOutputs + output)]) -
                 codes.valueAt(grid, i, output);
    error += off * off * (importance.empty() ? 1 : importance[size_t(i)]);
  }
  return error;
}

} // namespace mtp::test

#endif // MTP_TEST_QUANTIZE_TESTPANEL_H
