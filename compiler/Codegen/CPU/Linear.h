//===- Linear.h - What projections have in common ---------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_LINEAR_H
#define COMPILER_CODEGEN_CPU_LINEAR_H

#include "compiler/Codegen/CPU/PanelMatmul.h"

namespace mtp::codegen {

/// The buffers that a projection begins with: x, [norm weight], W, [bias].
struct ProjectionBuffers {
  Value x, normWeight, weights, bias;
  /// The number of the buffer behind them.
  int64_t next = 0;

  ProjectionBuffers(CpuBuilder &kb, const KernelConfig &config);
};

/// A matmul of these buffers as the configuration has it; rows and stores are
/// the caller's to say.
PanelMatmulSpec projectionSpec(const ProjectionBuffers &buffers,
                               const KernelConfig &config);

/// The values of `output` plus the bias, if there is one.
Value addBias(CpuBuilder &kb, Value bias, const OutputVector &output);

/// Scratch of a matmul of the configuration's width.
int64_t projectionScratchBytes(const KernelConfig &config,
                               const TargetDesc &target);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_LINEAR_H
