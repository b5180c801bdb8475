//===- RowSums.h - Sums of e^x over a row of logits -------------*- C++ -*-===//
//
// Sums are kept in lanes and joined in one order that depends on the width
// alone. A row's number does not depend on other rows.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_ROWSUMS_H
#define MTP_COMPILER_CODEGEN_ROWS_ROWSUMS_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Sums over a row whose largest element is finite; uniform values.
struct RowSums {
  Value best;
  /// True if `best` is finite. If not, the sums are undefined.
  Value isFinite;
  /// Sums of e^y and of e^y y, where y is an element minus `best`.
  Value powers, moments;
};
RowSums sumRow(KernelBuilder &kb, Value x, int64_t width);

/// Returns the logarithm of the sum of e^x, or the best element if it is not
/// finite.
Value emitLogSum(KernelBuilder &kb, const RowSums &sums);
/// Returns the logarithm of the sum of e^x; -infinity for a row of NaN.
Value emitLogSumExp(KernelBuilder &kb, Value x, int64_t width);
/// Returns x - sum, where `sum` is the logarithm of a sum: 0 if they are equal,
/// infinity included; -infinity for NaN. Both have one shape.
Value emitLogShare(KernelBuilder &kb, Value x, Value sum);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_ROWSUMS_H
