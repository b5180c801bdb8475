//===- Argmax.h - The index of a row's largest value ------------*- C++ -*-===//
//
// Ties go to the lowest index; a NaN never wins. The winner therefore does not
// depend on the order in which values are compared.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_ARGMAX_H
#define MTP_COMPILER_CODEGEN_ROWS_ARGMAX_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// A value (f32) and its index (i32), uniform or in lanes.
struct Best {
  Value value, index;
};

/// Returns a start value that every value but a NaN beats, -infinity included.
/// `value` and `index` are its types.
Best noBest(KernelBuilder &kb, mlir::Type value, mlir::Type index);
/// Returns the winner of `a` and `b`. If `mask` is not null, lanes outside it
/// get `b`. `b` must not be a NaN.
Best betterOf(KernelBuilder &kb, Best a, Best b, Value mask = {});
/// Returns the winner of all lanes.
Best bestLane(KernelBuilder &kb, Best best);
/// Returns the winner's index as an i64; 0 if no value won.
Value bestIndex(KernelBuilder &kb, Best best);

/// Returns the index (i64) of the largest of `width` f32 values at `x`; 0 if
/// all are NaN.
Value emitArgmax(KernelBuilder &kb, Value x, int64_t width);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_ARGMAX_H
