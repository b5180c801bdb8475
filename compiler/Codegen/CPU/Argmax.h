//===- Argmax.h - The index of a row's largest value ------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_ARGMAX_H
#define COMPILER_CODEGEN_CPU_ARGMAX_H

#include "compiler/Codegen/CPU/KernelBuilder.h"

namespace mtp::codegen {

/// The index (i64) of the largest of `width` f32 values at `x`. Of equal
/// values the first wins; a NaN never wins. 0 when all are NaN.
Value emitArgmax(KernelBuilder &kb, Value x, int64_t width);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ARGMAX_H
