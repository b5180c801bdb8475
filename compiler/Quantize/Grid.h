//===- Grid.h - Values that a quantised weight can have ---------*- C++ -*-===//
//
// A grid describes the numbers of a weight format in groups of inputs:
//
//   value = scale * q - minimum
//
// A panel is 32 outputs of a matrix, the unit of quantisation: no output
// depends on another one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_QUANTIZE_GRID_H
#define MTP_COMPILER_QUANTIZE_GRID_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mtp {

struct Grid {
  /// Bits of an integer q, 2 to 8.
  int bits = 4;
  /// True if each group has a minimum, which is not negative. q is then not
  /// negative, either. Otherwise q is signed.
  bool hasMinimum = true;
  /// Number of inputs that share a scale and a minimum.
  int64_t group = 32;
  /// Bits of the integers of scales and minima, 6 or 8. Each is multiplied by
  /// an f16 of `kBlock` inputs. 0: scale and minimum are f32.
  int scaleBits = 6;

  /// Number of inputs that share the f16 factors.
  static constexpr int64_t kBlock = 256;
  /// Number of outputs of a panel.
  static constexpr int64_t kOutputs = 32;

  bool operator==(const Grid &) const = default;

  /// Return the smallest and the largest q.
  int least() const { return hasMinimum ? 0 : -(1 << (bits - 1)); }
  int most() const { return least() + (1 << bits) - 1; }
  /// Returns the largest integer of a scale or minimum. Scales are signed if
  /// the grid has no minimum.
  int mostScale() const { return (1 << (hasMinimum ? scaleBits : 7)) - 1; }
  /// Returns the number of inputs that are searched together: whole groups.
  int64_t blockInputs() const { return kBlock / group * group; }
  /// Whether the sizes are possible: blocks with factors have whole groups.
  bool isValid() const {
    return bits >= 2 && bits <= 8 && group >= 1 && group <= kBlock &&
           (scaleBits == 0 || kBlock % group == 0) &&
           (scaleBits == 0 || scaleBits == 6 || scaleBits == 8) &&
           (hasMinimum || scaleBits != 6);
  }
  int64_t groups(int64_t inputs) const { return (inputs + group - 1) / group; }
  static int64_t blocks(int64_t inputs) {
    return (inputs + kBlock - 1) / kBlock;
  }
};

/// 4 and 5 bits with a minimum: the numbers of Q4_K and Q5_K.
inline constexpr Grid kGridK4{4, true, 32, 6};
inline constexpr Grid kGridK5{5, true, 32, 6};
/// 6 signed bits: Q6_K with groups four times as large.
inline constexpr Grid kGridK6{6, false, 64, 8};

/// The quantised form of a panel. Arrays have 32 numbers, one per output, for
/// each input, group or block.
struct GridCodes {
  static constexpr int64_t kOutputs = Grid::kOutputs;

  /// Integers q of each input.
  std::vector<int8_t> q;
  /// Integers of each group's scale and minimum; empty without scaleBits.
  std::vector<int8_t> scaleCodes, minimumCodes;
  /// f16 factors of each block.
  std::vector<uint16_t> scaleFactors, minimumFactors;
  /// Scale and minimum of each group, which are exact products.
  std::vector<float> scales, minima;

  void resize(const Grid &grid, int64_t inputs) {
    size_t groups = size_t(grid.groups(inputs) * kOutputs);
    size_t blocks = size_t(Grid::blocks(inputs) * kOutputs);
    q.assign(size_t(inputs * kOutputs), 0);
    scaleCodes.assign(grid.scaleBits ? groups : 0, 0);
    minimumCodes.assign(grid.scaleBits ? groups : 0, 0);
    scaleFactors.assign(grid.scaleBits ? blocks : 0, 0);
    minimumFactors.assign(grid.scaleBits ? blocks : 0, 0);
    scales.assign(groups, 0);
    minima.assign(groups, 0);
  }

  /// Returns the value of an input of one output.
  float valueAt(const Grid &grid, int64_t input, int64_t output) const {
    size_t group = size_t(input / grid.group * kOutputs + output);
    return scales[group] * float(q[size_t(input * kOutputs + output)]) -
           minima[group];
  }
};

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_GRID_H
