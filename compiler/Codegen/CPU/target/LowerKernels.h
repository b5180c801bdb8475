//===- LowerKernels.h - Kernels to the llvm dialect -------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_TARGET_LOWERKERNELS_H
#define MTP_COMPILER_CODEGEN_CPU_TARGET_LOWERKERNELS_H

#include "mlir/Pass/PassManager.h"
#include <memory>

namespace mtp::codegen {

/// Creates the passes that lower a module of kernels to the llvm dialect. A
/// pass manager may run over several modules in turn, in one thread.
std::unique_ptr<mlir::PassManager>
makeKernelLowering(mlir::MLIRContext &context);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_TARGET_LOWERKERNELS_H
