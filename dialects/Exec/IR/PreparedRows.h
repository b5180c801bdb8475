//===- PreparedRows.h - Rows in the order of tensor cores -------*- C++ -*-===//
//
// What `prepare_rows` makes of rows, and products on weights in fragments take.
// Inputs are in pieces, the last one of integers filled up with zeros. A piece
// of all rows lies together, row after row, so that what a warp has of eight
// rows is one stretch:
//
//   [piece][row][lane of the row's four][its inputs]
//
// Lane t has eight inputs from 8 t on of each 32 of a piece, as the weights'
// fragments do (runtime/schema/FragmentOrder.h). Behind the integers stand the
// scales, f32, of [group][row], with an even number of rows: where that of
// those that live is odd, the last one's scale stands twice.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H
#define MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H

#include "runtime/schema/WeightFormat.h"
#include <algorithm>

namespace mlir::exec {

/// Of rows of `k` inputs for weights of `format`, in groups where that has.
struct PreparedRows {
  ::mtp::WeightFormat format;
  int64_t k;

  /// What rows are made: bf16, or int8 for integers of any size.
  static constexpr ::mtp::WeightFormat rowFormat(::mtp::WeightFormat weights) {
    if (weights.isQuantized())
      weights.elements = ::mtp::WeightElements::Int8;
    return weights;
  }
  static constexpr bool isFormat(::mtp::WeightFormat format) {
    return format.isBF16() || (format.isQuantized() && format.bits() == 8);
  }

  constexpr bool isInteger() const { return format.isQuantized(); }
  /// Inputs that a lane loads with one access of up to 16 bytes, times four.
  constexpr int64_t pieceInputs() const {
    return isInteger() ? std::min<int64_t>(format.group, 64) : 32;
  }
  constexpr int64_t pieceBytes() const {
    return isInteger() ? pieceInputs() : 2 * pieceInputs();
  }
  /// Groups of integers; the last one may have fewer inputs.
  constexpr int64_t groups() const {
    return isInteger() ? (k + format.group - 1) / format.group : 0;
  }
  /// Inputs of a row, zeros included.
  constexpr int64_t inputs() const {
    return isInteger() ? groups() * format.group : k;
  }
  constexpr int64_t pieces() const { return inputs() / pieceInputs(); }
  /// Bytes for each row, which are enough for one scale more of each group.
  constexpr int64_t rowBytes() const {
    return isInteger() ? inputs() + 8 * groups() : 2 * k;
  }
};

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_PREPAREDROWS_H
