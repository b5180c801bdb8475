//===- WeightRows.h - The matrix a recipe's source stands for ---*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTROWS_H
#define MTP_COMPILER_WEIGHTS_WEIGHTROWS_H

#include "compiler/Weights/RandomWeights.h"
#include "compiler/Weights/WeightSet.h"

namespace mtp {

/// One source of a recipe, for one matrix of its stack: the rectangle, after
/// transposition, with its tensor found and checked. Valid while the set lives.
class WeightRows {
public:
  /// Finds the tensor and checks type, rank and bounds. FP8 tensors are scaled
  /// by `KEY_scale_inv`, one number per block of 128 x 128.
  static Result<WeightRows> resolve(const WeightSet &weights,
                                    const WeightSource &source, int64_t stack);

  /// Random values in place of a tensor's.
  static WeightRows random(const RandomMatrix &values, int64_t rows,
                           int64_t cols);

  int64_t rows() const { return isTransposed ? width : height; }
  int64_t cols() const { return isTransposed ? height : width; }

  /// Widens the elements [row, row+rowCount) x [col, col+colCount) to f32;
  /// element (i, j) goes to out[i * stride + j].
  void read(int64_t row, int64_t rowCount, int64_t col, int64_t colCount,
            float *out, int64_t stride) const;

  /// Widens `count` elements of the row-major order, beginning at `index`.
  void readFlat(int64_t index, int64_t count, float *out) const;

private:
  /// Widens a run of one row of the tensor, both relative to the rectangle.
  void readRun(int64_t row, int64_t col, int64_t count, float *out) const;
  Status findScales(const WeightSet &weights, const std::string &key,
                    const WeightSource &source, int64_t tensorRows);
  float scaleAt(int64_t row, int64_t block) const;

  WeightType type = WeightType::F32;
  const uint8_t *bytes = nullptr; ///< Of the whole tensor; null: random.
  RandomMatrix values;
  int64_t tensorCols = 0;             ///< Row pitch, in elements.
  int64_t rowBegin = 0, colBegin = 0; ///< The rectangle's corner.
  int64_t height = 0, width = 0;      ///< The rectangle, as stored.
  bool isTransposed = false;
  std::vector<int32_t> picks;      ///< Rows in place of all, if not empty.
  const uint8_t *scales = nullptr; ///< FP8 only.
  WeightType scaleType = WeightType::F32;
  int64_t matrixRows = 0;               ///< Of each matrix of a stack.
  int64_t scaleRows = 0, scaleCols = 0; ///< Of its scales.
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTROWS_H
