//===- WeightRows.h - The matrix of a recipe's source -----------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_WEIGHTROWS_H
#define MTP_COMPILER_WEIGHTS_PACK_WEIGHTROWS_H

#include "compiler/Weights/GgufBlocks.h"
#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/RandomWeights.h"
#include "compiler/Weights/pack/StoredRows.h"

namespace mtp {

/// One source of a recipe, for one matrix of its stack: the rectangle after
/// transposition. Its tensor has been found and checked. Valid as long as the
/// set exists.
class WeightRows {
public:
  /// Finds the tensor and checks its type, rank and bounds.
  static Result<WeightRows> resolve(const WeightSet &weights,
                                    const WeightSource &source, int64_t stack);

  /// Returns random values in place of a tensor's.
  static WeightRows random(const RandomMatrix &values, int64_t rows,
                           int64_t cols);

  int64_t rows() const { return isTransposed ? width : height; }
  int64_t cols() const { return isTransposed ? height : width; }

  /// Widens the elements [row, row+rowCount) x [col, col+colCount) to f32.
  /// Element (i, j) goes to out[i * stride + j].
  void read(int64_t row, int64_t rowCount, int64_t col, int64_t colCount,
            float *out, int64_t stride) const;

  /// Widens `count` elements in row-major order from `index` on.
  void readFlat(int64_t index, int64_t count, float *out) const;

  /// Returns the smallest format that represents the values exactly; nothing if
  /// they are not integers in groups of a row's columns, or if the rectangle
  /// divides a group.
  std::optional<WeightFormat> keptFormat() const;

  /// Returns the format of one row, which keptFormat() represents.
  /// Precondition: keptFormat() has a value.
  WeightFormat formatOfRow(int64_t row) const;

  /// Returns how the tensor is stored; an empty name for random values.
  StoredType storedType() const;

  /// Returns the kind of groups of a weight of integers from a folder; nothing
  /// if the values are no such groups, or if the rectangle is transposed or
  /// does not begin with a group.
  std::optional<GroupForm> groupForm() const;
  /// Reads the integers of `count` columns of a row from `col` on, and their
  /// groups, of the size that formatOfRow() has. Precondition: keptFormat() has
  /// a value, and `col` begins such a group.
  void readCodes(int64_t row, int64_t col, int64_t count, GroupCodes *groups,
                 int16_t *q) const;

private:
  /// Returns the tensor's row of a row of the rectangle.
  int64_t tensorRow(int64_t row) const {
    return (picks.empty() ? row : picks[size_t(row)]) + rowBegin;
  }
  /// Widens a run of one row of the tensor. `row` and `col` are relative to the
  /// rectangle.
  void readRun(int64_t row, int64_t col, int64_t count, float *out) const;

  StoredRows source; ///< Empty: random values.
  RandomMatrix values;
  int64_t tensorCols = 0;             ///< The row pitch, in elements.
  int64_t rowBegin = 0, colBegin = 0; ///< Corner of the rectangle.
  int64_t height = 0, width = 0;      ///< Size of the rectangle, as stored.
  bool isTransposed = false;
  std::vector<int32_t> picks;           ///< The rows to read; empty: all.
  const StoredTensor *stored = nullptr; ///< Values of codes and scales.
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_WEIGHTROWS_H
