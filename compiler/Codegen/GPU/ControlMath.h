//===- ControlMath.h - Math of bodies without a library ---------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_CONTROLMATH_H
#define MTP_COMPILER_CODEGEN_GPU_CONTROLMATH_H

namespace mlir {
class Operation;
} // namespace mlir

namespace mtp::codegen {

/// Replaces arith and math operations in `function` by LLVM intrinsics if the
/// lowering to NVVM would turn them into calls of a library.
void replaceLibraryMath(mlir::Operation *function);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_CONTROLMATH_H
