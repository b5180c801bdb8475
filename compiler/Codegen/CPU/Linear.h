//===- Linear.h - What projections have in common ---------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_LINEAR_H
#define COMPILER_CODEGEN_CPU_LINEAR_H

#include "compiler/Codegen/CPU/PanelMatmul.h"
#include "compiler/Codegen/ProductParams.h"

namespace mtp::codegen {

/// The matrix of `params`; weights, rows and stores are the caller's to say.
PanelMatmulSpec matmulSpec(const ProductParams &params);
/// The same of a projection, of these buffers; rows and stores are the caller's
/// to say.
PanelMatmulSpec projectionSpec(const ProjectionBuffers &buffers,
                               const ProductParams &params);

/// The values of `output` plus the bias, if there is one.
Value addBias(CpuBuilder &kb, Value bias, const OutputVector &output);

/// Scratch of a product by the weight of a kernel.
template <typename KernelT>
int64_t productScratchBytes(KernelT kernel, const TargetDesc &target) {
  return panelScratchBytes(kernel.getK(), kernel.getFormat().getFormat(),
                           target);
}

/// Reports unless the code of this target streams such a weight.
template <typename KernelT>
mlir::LogicalResult verifyOnCpu(KernelT kernel, EmitError emitError) {
  if (kernel.getFragments())
    return emitError() << "expected weights in panels, got fragments";
  return verifyPanels(kernel, emitError);
}

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_LINEAR_H
