//===- Argmax.h - The index of a row's largest value ------------*- C++ -*-===//
//
// Of equal values the one of the lowest index wins; a NaN never wins. So the
// winner does not depend on the order in which values are compared.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_ARGMAX_H
#define COMPILER_CODEGEN_ROWS_ARGMAX_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// A value (f32) and its index (i32): one of each, or lane by lane.
struct Best {
  Value value, index;
};

/// What every value but a NaN beats, -infinity included; of these shapes.
Best noBest(KernelBuilder &kb, mlir::Type value, mlir::Type index);
/// The winner of `a` and `b`, in the lanes of `mask` where it is not null; `b`
/// in the others. `b` is no NaN.
Best betterOf(KernelBuilder &kb, Best a, Best b, Value mask = {});
/// The winner of all lanes.
Best bestLane(KernelBuilder &kb, Best best);
/// Its index as an i64; 0 where nothing won.
Value bestIndex(KernelBuilder &kb, Best best);

/// The index (i64) of the largest of `width` f32 values at `x`; 0 when all are
/// NaN.
Value emitArgmax(KernelBuilder &kb, Value x, int64_t width);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_ARGMAX_H
