//===- ControlBody.h - What kernels with a body of their own need *- C++
//-*-===//
//
// A body (`exec.kernel` with a region) sees memrefs, a kernel gets pointers.
// The memrefs have the extents of their types; the first extent of a buffer of
// rows is not known to the body, and nothing asks for it.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CONTROLBODY_H
#define COMPILER_CODEGEN_CONTROLBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mtp::codegen {

/// `pointer` as a buffer of `type`, of which only the first extent is dynamic.
mlir::Value asBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value pointer, mlir::MemRefType type,
                     mlir::Value rows);

/// Replaces what a function asks for the nearest of `tasks` (i64) tasks.
void expandNearestTasks(mlir::Operation *function, mlir::Value tasks);

/// Replaces functions of f32 by polynomials: no target has a library, and their
/// bits are the same on all of them. Operations with a pair of indices as
/// results become those of i64, which alone LLVM's lowering knows.
mlir::LogicalResult expandMath(mlir::Operation *function);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CONTROLBODY_H
