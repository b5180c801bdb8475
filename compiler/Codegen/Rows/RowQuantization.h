//===- RowQuantization.h - Quantization of rows -----------------*- C++ -*-===//
//
// int8 and int4 weights are multiplied with rows of int8. Each group of a row
// is quantised to its largest magnitude over 127. All targets use this code, so
// that a row has equal integers on every target.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H
#define MTP_COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Scale of a group of a row: the value of integer 1, and its reciprocal. Both
/// are zero if the values are too small to have a reciprocal.
struct RowScale {
  Value scale, perUnit;
};

/// Returns the bits of a magnitude, which are ordered like magnitudes. A NaN is
/// above all numbers. It makes the scale, and so the row's result, a NaN.
Value emitMagnitudeBits(KernelBuilder &kb, Value x);
/// Returns the scale of a group, from the bits of its largest magnitude;
/// uniform.
RowScale emitRowScale(KernelBuilder &kb, Value magnitudeBits);
/// Returns the integer nearest to the scaled `x` (ties to even) plus
/// kRowIntegerBits, as an i32. The low byte is the integer.
Value emitRowInteger(KernelBuilder &kb, Value x, const RowScale &scale);

/// Bits of 1.5 * 2^23. Added to a small value, that number leaves the nearest
/// integer in the low bits.
inline constexpr int64_t kRowIntegerBits = 0x4b400000;

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_ROWQUANTIZATION_H
