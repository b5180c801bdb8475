//===- ControlMath.h - A body's math without a library ----------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_CONTROLMATH_H
#define COMPILER_CODEGEN_GPU_CONTROLMATH_H

namespace mlir {
class Operation;
} // namespace mlir

namespace mtp::codegen {

/// Puts LLVM's intrinsics in place of those operations of arith and math in
/// `function` that the lowering to NVVM would make calls of a library.
void replaceLibraryMath(mlir::Operation *function);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_CONTROLMATH_H
