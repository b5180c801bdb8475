//===- RowQuantization.h - Rows as integers ---------------------*- C++ -*-===//
//
// Weights of int8 and int4 are multiplied with rows of int8: each group of a
// row is quantised to its largest magnitude over 127. How, is said here alone,
// so that a row is the same integers on every target.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H
#define COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Of a group of a row: what an integer stands for, and its reciprocal. Zero
/// and zero where the values are too small to have one.
struct RowScale {
  Value scale, perUnit;
};

/// The bits of a magnitude, which are in the order of the magnitudes. A NaN is
/// above all: it makes the scale, and so the row's result, a NaN.
Value emitMagnitudeBits(KernelBuilder &kb, Value x);
/// The scale of a group, from the bits of its largest magnitude; uniform.
RowScale emitRowScale(KernelBuilder &kb, Value magnitudeBits);
/// A number (i32) of which the low byte is the integer of `x`, the nearest one,
/// ties to even; kRowIntegerBits larger than it is.
Value emitRowInteger(KernelBuilder &kb, Value x, const RowScale &scale);

/// The bits of 1.5 * 2^23: added to a small value it leaves the nearest integer
/// in the low bits.
inline constexpr int64_t kRowIntegerBits = 0x4b400000;

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H
