//===- PanelMatmul.h - Rows times packed weight panels ----------*- C++ -*-===//
//
// Engine of linear, head_linear and the experts. Weights are packed in panels
// of 32 outputs, which are streamed once per 64 rows. Rows are copied into
// scratch in the form in which they are multiplied.
//
// - Each output is one chain of fused multiply-adds (or bf16 dot products) over
//   k. All row blocks have this chain, so a row's result does not depend on the
//   number of rows or on its block.
// - Rows of a block are interleaved in scratch ([k][rows]), because rows at a
//   large power-of-two stride would share one set of the L1 cache.
//
// A "unit" is the content of one 4-byte broadcast: one f32 value of a row, or a
// pair of bf16 values if the target has a bf16 dot product.
//
// Integer weights have their own engine with this interface, QuantizedMatmul.h.
// PanelWalk.h has the code that both engines share.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELMATMUL_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELMATMUL_H

#include "compiler/Codegen/CPU/products/PanelSpec.h"

namespace mtp::codegen {

/// Returns the scratch bytes for rows of `k` values.
int64_t panelScratchBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Emits the loop over the caller's tasks.
void emitPanelMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELMATMUL_H
