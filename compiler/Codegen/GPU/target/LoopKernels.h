//===- LoopKernels.h - Kernels that run around rounds -----------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H
#define COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mtp::codegen {

/// Appends the kernels of runtime/schema/DeviceLoop.h to `module`, which holds
/// nothing else. Loading the module takes a driver that has conditional nodes.
void emitLoopKernels(mlir::OpBuilder &builder, mlir::gpu::GPUModuleOp module);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H
