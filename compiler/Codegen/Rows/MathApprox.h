//===- MathApprox.h - Elementary functions on vectors -----------*- C++ -*-===//
//
// All kernels use this exponential. A value therefore has equal bits in a
// softmax, a gate or a router, and no library is called.
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
