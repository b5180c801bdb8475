//===- AttentionTensorKinds.h - Kinds of attention in tensor cores -*- C++ -*-//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSORKINDS_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSORKINDS_H

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/attention/AttentionTensor.h"

namespace mtp::codegen {

// Kernels of Attention.cpp, for configurations that TensorDivision fits.

GpuLaunch launchTensor(const AttentionShape &shape);
void emitTensorAttention(GpuBuilder &kb, const AttentionShape &shape,
                         float scale, bool tree);
void emitTensorSplits(GpuBuilder &kb, const AttentionShape &shape, float scale);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSORKINDS_H
