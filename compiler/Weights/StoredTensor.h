//===- StoredTensor.h - A weight stored as codes and scales -----*- C++ -*-===//
//
// The values of a weight that a folder stores in several tensors: codes, scales
// and, by format, zeros, the groups of columns, and a scale of the whole
// tensor. StoredFormats finds the tensors and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_STOREDTENSOR_H
#define MTP_COMPILER_WEIGHTS_STOREDTENSOR_H

#include "compiler/Weights/GroupCodes.h"
#include "compiler/Weights/PackedIntegers.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// Numbers of a matrix or a stack, one for each block of rows and columns.
struct NumberGrid {
  const uint8_t *bytes = nullptr; ///< Null: no numbers.
  WeightType type = WeightType::F32;
  int64_t rowBlock = 1, colBlock = 1; ///< Extents of a block.
  /// Numbers from a block to the next one below, and to the right.
  int64_t rowPitch = 0, colPitch = 0;
  int64_t matrixPitch = 0; ///< Numbers from a matrix of a stack to the next.

  /// Returns the place of the number for a row of a matrix and a block column.
  int64_t place(int64_t matrix, int64_t row, int64_t block) const {
    return matrix * matrixPitch + row / rowBlock * rowPitch + block * colPitch;
  }
};

/// A matrix, or a stack of matrices whose rows follow each other. The value at
/// a row and a column is
///
///   scale * (code - zero)    or    scale * table[code]
///
/// in f32, rounded once. A scale that is the product or quotient of two stored
/// numbers has been rounded once. Valid as long as the files are open.
class StoredTensor {
public:
  /// Returns the format's name and its group: "int4 (AWQ) in groups of 128".
  const std::string &name() const { return label; }
  /// Returns the extents: two, or three for a stack.
  const std::vector<int64_t> &shape() const { return extents; }
  /// Returns true if codes are floats of 8 bits.
  bool isFloat8() const { return table.size() == 256; }

  /// Computes a run of one row. `row` counts through all matrices of a stack.
  void read(int64_t row, int64_t col, int64_t count, float *out) const;

  /// Returns the kind of groups, if the values are integers in groups of one
  /// row's successive columns, with scales that f32 represents.
  std::optional<GroupForm> groupForm() const;

  /// Reads the integers of `count` columns of a row from `col` on, in groups of
  /// `group`. Precondition: groupForm() has a value, `group` divides its group
  /// or its group is a row, and `col` begins a group.
  void readCodes(int64_t row, int64_t col, int64_t count, int64_t group,
                 GroupCodes *groups, int16_t *q) const;

  /// Returns the stored bits of an element, with its share of scales and zeros.
  double bits() const;

private:
  friend class StoredFormat;

  int64_t rows() const { return extents[extents.size() - 2]; }
  int64_t blockOf(int64_t col) const;
  float scaleAt(int64_t row, int64_t block) const;
  int zeroAt(int64_t row, int64_t block) const;
  bool hasZeros() const { return zeros.bytes || signedZeros; }

  std::string label;
  std::vector<int64_t> extents;
  PackedIntegers codes;
  std::span<const float> table; ///< Values of codes; empty: integers.
  NumberGrid scales;
  PackedIntegers zeros;
  /// Zeros as bytes with a sign, in the order of the scales; null: none.
  const uint8_t *signedZeros = nullptr;
  int zeroShift = 0; ///< Is added to each zero, or is the only zero.
  /// Group of each column as I32; null: by position.
  const uint8_t *order = nullptr;
  int64_t orderGroups = 0; ///< Number of groups of `order`.
  /// A factor of all scales, and true if it divides them.
  float factor = 1;
  bool divides = false;
};

/// Values of 4-bit floats (e2m1), and of 8-bit floats (e4m3).
std::span<const float> float4Table();
std::span<const float> float8Table();

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_STOREDTENSOR_H
