//===- RowSums.h - Sums of e^x over a row of logits -------------*- C++ -*-===//
//
// Sums are in lanes, joined in one order, which the width alone decides: a
// row's number does not depend on the rows beside it.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_ROWSUMS_H
#define COMPILER_CODEGEN_ROWS_ROWSUMS_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Sums over a row whose largest element is finite; uniform values.
struct RowSums {
  Value best;
  /// Whether it is finite. Where it is not, the sums mean nothing.
  Value isFinite;
  /// Of e^y and e^y y, y being the distance from the best one, 0 or less.
  Value powers, moments;
};
RowSums sumRow(KernelBuilder &kb, Value x, int64_t width);

/// The logarithm of the sum of e^x; the best element where that is not finite.
Value emitLogSum(KernelBuilder &kb, const RowSums &sums);
/// The same, -infinity of a row of NaN.
Value emitLogSumExp(KernelBuilder &kb, Value x, int64_t width);
/// x less the logarithm of a sum: 0 where they are one, infinity included, and
/// -infinity for NaN. Of one shape.
Value emitLogShare(KernelBuilder &kb, Value x, Value sum);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_ROWSUMS_H
