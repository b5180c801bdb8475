//===- PreparedRows.h - Rows in the order of tensor cores -------*- C++ -*-===//
//
// The form of rows that `prepare_rows` writes, and that products on weights in
// fragments read. Inputs are in pieces; the last piece of integers is padded
// with zeros. A piece of all rows is contiguous, row after row, so that a warp
// reads its eight rows as one stretch:
//
//   [piece][row][lane of the row's four][its inputs]
//
// Lane t has eight inputs from 8 t on of each 32 inputs of a piece, as in the
// weights' fragments (runtime/schema/FragmentOrder.h). The f32 scales follow
// the integers, in the order [group][row], with an even number of rows: if the
// number of active rows is odd, the last scale is repeated.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H
#define MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H

#include "runtime/schema/WeightFormat.h"
#include <algorithm>

namespace mlir::exec {

/// Parameters of rows of `k` inputs for weights of `format`, in groups if the
/// format has groups.
struct PreparedRows {
  ::mtp::WeightFormat format;
  int64_t k;

  /// Returns the element type of prepared rows: bf16, or int8 for integers of
  /// any size.
  static constexpr ::mtp::WeightFormat rowFormat(::mtp::WeightFormat weights) {
    if (weights.isQuantized())
      weights.elements = ::mtp::WeightElements::Int8;
    return weights;
  }
  static constexpr bool isFormat(::mtp::WeightFormat format) {
    return format.isBF16() || (format.isQuantized() && format.bits() == 8);
  }

  constexpr bool isInteger() const { return format.isQuantized(); }
  /// Returns the inputs that four lanes load, each with one access of up to 16
  /// bytes.
  constexpr int64_t pieceInputs() const {
    return isInteger() ? std::min<int64_t>(format.group, 64) : 32;
  }
  constexpr int64_t pieceBytes() const {
    return isInteger() ? pieceInputs() : 2 * pieceInputs();
  }
  /// Returns the number of groups of integers; the last group may have fewer
  /// inputs.
  constexpr int64_t groups() const {
    return isInteger() ? (k + format.group - 1) / format.group : 0;
  }
  /// Returns the inputs of a row, including padding zeros.
  constexpr int64_t inputs() const {
    return isInteger() ? groups() * format.group : k;
  }
  constexpr int64_t pieces() const { return inputs() / pieceInputs(); }
  /// Returns the bytes for each row, which include one extra scale per group.
  constexpr int64_t rowBytes() const {
    return isInteger() ? inputs() + 8 * groups() : 2 * k;
  }
};

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H
