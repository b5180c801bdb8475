//===- Compile.h - From kernel functions to a linked image ------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_COMPILE_H
#define COMPILER_CODEGEN_CPU_COMPILE_H

#include "compiler/Codegen/CPU/TargetDesc.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace mtp::codegen {

/// Loads the dialects that kernels are written in; emitKernel does it too.
void loadKernelDialects(mlir::MLIRContext &context);

/// Lowers `kernels` (in place), compiles it for `target` and links a
/// position-independent ELF shared image. The image needs nothing but memcpy,
/// memset and memmove from the process that loads it. Errors are reported on
/// the module.
mlir::FailureOr<std::vector<char>> compileKernels(mlir::ModuleOp kernels,
                                                  const TargetDesc &target);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_COMPILE_H
