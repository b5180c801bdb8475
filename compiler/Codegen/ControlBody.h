//===- ControlBody.h - Helpers for kernels that carry a body ----*- C++ -*-===//
//
// A body (`exec.kernel` with a region) uses memrefs; a kernel gets pointers.
// The memrefs have the extents of their types. The first extent of a buffer of
// rows is unknown to the body, and no code asks for it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CONTROLBODY_H
#define MTP_COMPILER_CODEGEN_CONTROLBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mtp::codegen {

/// Returns `pointer` as a buffer of `type`. Only the first extent of `type` may
/// be dynamic; it is `rows`.
mlir::Value asBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value pointer, mlir::MemRefType type,
                     mlir::Value rows);

/// Expands each `exec.clamp_task` in `function`. `tasks` (i64) is the number
/// of tasks.
void expandClampTasks(mlir::Operation *function, mlir::Value tasks);

/// Replaces f32 math functions by polynomials, because no target has a math
/// library. Their results have equal bits on all targets. Operations whose
/// results are a pair of indices become operations on i64, which LLVM's
/// lowering requires.
mlir::LogicalResult expandMath(mlir::Operation *function);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CONTROLBODY_H
