//===- Linear.h - Helpers that projections share ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_LINEAR_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_LINEAR_H

#include "compiler/Codegen/CPU/products/PanelMatmul.h"
#include "compiler/Codegen/ProductParams.h"

namespace mtp::codegen {

/// Returns the matrix of `params`. The caller adds weights, rows and stores.
PanelMatmulSpec matmulSpec(const ProductParams &params);
/// Returns the product of a projection over `buffers`. The caller adds rows and
/// stores.
PanelMatmulSpec projectionSpec(const ProjectionBuffers &buffers,
                               const ProductParams &params);

/// Adds the bias, if there is one, to the values of `output`.
Value addBias(CpuBuilder &kb, Value bias, const OutputVector &output);

/// Returns the scratch bytes of a product with the weight of a kernel.
template <typename KernelT>
int64_t productScratchBytes(KernelT kernel, const TargetDesc &target) {
  return panelScratchBytes(kernel.getK(), kernel.getFormat().getFormat(),
                           target);
}

/// Reports an error if this target has no code for the kernel's weight layout.
template <typename KernelT>
mlir::LogicalResult verifyOnCpu(KernelT kernel, EmitError emitError) {
  if (kernel.getFragments())
    return emitError() << "expected weights in panels, got fragments";
  return verifyPanels(kernel, emitError);
}

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_LINEAR_H
