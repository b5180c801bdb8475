//===- MathApprox.h - Elementary functions on vectors -----------*- C++ -*-===//
//
// Kernels share these functions and call no library. A value therefore has
// equal bits in a softmax, a gate or a router. Attention on a CPU has powers of
// two instead of emitExp(), because they take half of its multiplications.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_MATHAPPROX_H
#define MTP_COMPILER_CODEGEN_ROWS_MATHAPPROX_H

#include "compiler/Codegen/KernelBuilder.h"
#include "dialects/MTP/IR/MTPAttrs.h"

namespace mtp::codegen {

/// Returns e^x within 1.5 ulp; 0 for -infinity, infinity above 88.73, NaN for
/// NaN.
Value emitExp(KernelBuilder &kb, Value x);
/// Returns 2^x for x <= 0, within 3 ulp and 1 for 0; 0 below -126, NaN for NaN.
Value emitPowerOfTwo(KernelBuilder &kb, Value x);
/// Returns log(x) within 2 ulp of 1 or of the result, for normal positive x; a
/// scalar or lanes.
Value emitLog(KernelBuilder &kb, Value x);
/// Returns 1 / (1 + e^-x).
Value emitSigmoid(KernelBuilder &kb, Value x);
/// Returns log(1 + e^x), within a few ulp even if it is nearly 0.
Value emitSoftplus(KernelBuilder &kb, Value x);
/// Returns x / (1 + e^-x).
Value emitSilu(KernelBuilder &kb, Value x);
/// Returns the GELU of x in its tanh form, within 4 ulp for positive x and
/// within 1e-5 of the result for x from -8 on.
Value emitGeluTanh(KernelBuilder &kb, Value x);
/// Returns `gate` after the activation, times `up`.
Value emitGated(KernelBuilder &kb, mlir::mtp::ActivationKind activation,
                Value gate, Value up);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_MATHAPPROX_H
