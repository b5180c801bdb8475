//===- StoredRows.h - The rows of a tensor in its files ---------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_STOREDROWS_H
#define MTP_COMPILER_WEIGHTS_PACK_STOREDROWS_H

#include "compiler/Weights/GroupCodes.h"
#include "compiler/Weights/WeightSet.h"
#include "runtime/schema/WeightFormat.h"

#include <optional>
#include <string>

namespace mtp {

/// How values are stored: the name of their type and the bits of an element.
struct StoredType {
  std::string name;
  double bits = 0;
};

/// A matrix as its file stores it.
struct StoredMatrix {
  WeightType type = WeightType::F32;
  const uint8_t *bytes = nullptr; ///< The whole tensor.
  int64_t cols = 0;               ///< The row pitch, in elements.
  int64_t pairedRows = 0;         ///< See TensorEntry, as the next fields.
  float factor = 1;
  TiledHeads tiledRows, tiledColumns;

  /// Takes a tensor whose rows have `cols` elements.
  void set(const TensorView &tensor, int64_t cols);
  /// Widens a run of one row.
  void readRow(int64_t row, int64_t col, int64_t count, float *out) const;
  /// Widens `count` elements in the order of the file, from `index` on.
  void readFlat(int64_t index, int64_t count, float *out) const;

  /// Returns the smallest format that represents `width` columns from `col` on
  /// exactly; nothing if the type has no blocks, or if groups are divided.
  std::optional<WeightFormat> keptFormat(int64_t col, int64_t width) const;
  /// Reads the integers and groups of `count` columns of a row from `col` on.
  /// Both must be multiples of a group, and keptFormat() must have a value.
  void readCodes(int64_t row, int64_t col, int64_t count, GroupCodes *groups,
                 int16_t *q) const;
  StoredType storedType() const;

private:
  /// Returns the row's place in the file.
  int64_t placeOf(int64_t row) const;
};

/// The rows of a tensor, in the order of Hugging Face's folders, from one or
/// two matrices in files. Valid as long as the set exists.
class StoredRows {
public:
  /// Takes a tensor of one or two dimensions, or a joined tensor.
  static Result<StoredRows> find(const WeightSet &weights,
                                 const TensorView &tensor);

  /// Returns true if no tensor has been taken.
  bool isEmpty() const { return !first.bytes; }
  /// Returns true if the values are in the order of the file.
  bool isInOrder() const;

  /// Widens a run of one row.
  void readRow(int64_t row, int64_t col, int64_t count, float *out) const;
  /// Widens `count` elements from `index` on. The values must be in order.
  void readFlat(int64_t index, int64_t count, float *out) const {
    first.readFlat(index, count, out);
  }
  /// Widens the elements of `colCount` columns from `col` on, in `rowCount`
  /// rows from `row` on. Column i goes to `out` + i * stride. Returns false
  /// without effect unless the rows are contiguous in the file for each column.
  bool readColumns(int64_t row, int64_t rowCount, int64_t col, int64_t colCount,
                   float *out, int64_t stride) const;

  /// Returns the smallest format that represents `width` columns from `col` on
  /// exactly, if there is one.
  std::optional<WeightFormat> keptFormat(int64_t col, int64_t width) const;
  /// Returns the format of one row. keptFormat() must have a value.
  WeightFormat formatOfRow(int64_t row, int64_t col, int64_t width) const;
  /// Reads the integers of `count` columns of a row from `col` on, and their
  /// groups, of the size that formatOfRow() has. Both must be multiples of a
  /// group, and keptFormat() must have a value.
  void readCodes(int64_t row, int64_t col, int64_t count, GroupCodes *groups,
                 int16_t *q) const;
  /// Returns the type, or the names of two types and their mean.
  StoredType storedType() const;

private:
  /// Returns the place in `first`, which is transposed, of a row's column.
  int64_t placeOf(int64_t row, int64_t col) const {
    return (row / first.cols * join->shape[1] + col) * first.cols +
           row % first.cols;
  }

  /// If not null, the matrices are the parts of a joined tensor.
  const TensorJoin *join = nullptr;
  StoredMatrix first, second;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_STOREDROWS_H
