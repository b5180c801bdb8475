//===- LoopKernels.h - Kernels that run around rounds -----------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mtp::codegen {

/// Appends the kernels of runtime/schema/DeviceLoop.h to `module`, which holds
/// nothing else. Loading the module takes a driver that has conditional nodes.
void emitLoopKernels(mlir::OpBuilder &builder, mlir::gpu::GPUModuleOp module);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_LOOPKERNELS_H
