//===- Linear.h - What projections have in common ---------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_LINEAR_H
#define COMPILER_CODEGEN_GPU_LINEAR_H

#include "compiler/Codegen/GPU/PanelProduct.h"

namespace mtp::codegen {

/// The buffers that a projection begins with: x, [norm weight], W, [bias].
struct ProductBuffers {
  Value x, normWeight, weights, bias;
  /// The number of the buffer behind them.
  int64_t next = 0;

  ProductBuffers(GpuBuilder &kb, const KernelConfig &config);
};

/// A product of these buffers as the configuration has it; rows and stores are
/// the caller's to say.
PanelProductSpec productSpec(const ProductBuffers &buffers,
                             const KernelConfig &config);

/// A block for every panel and every tile of rows.
GpuLaunch tileLaunch(int64_t panels);

/// What a block of `tileLaunch` has.
struct BlockTile {
  Value panel, firstRow;

  /// `rows` of the matrix are in tiles.
  BlockTile(GpuBuilder &kb, Value rows);
};

/// The product of the block's tile: weights are prefetched, then the kernel
/// waits for those before it.
void emitTileProduct(GpuBuilder &kb, const PanelProductSpec &spec,
                     Value firstRow);

/// The values of `output` plus the bias, if there is one.
Value addBias(GpuBuilder &kb, Value bias, const ProductOutput &output);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_LINEAR_H
