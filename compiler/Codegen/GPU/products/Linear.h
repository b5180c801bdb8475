//===- Linear.h - What projections have in common ---------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H

#include "compiler/Codegen/GPU/products/FragmentProduct.h"

namespace mtp::codegen {

/// The same of a projection, of these buffers.
PanelProductSpec productSpec(const ProjectionBuffers &buffers,
                             const ProductParams &params);

/// A block for every tile of rows and every panel of `heads` matrices, or what
/// a block of a product on fragments has of one.
GpuLaunch tileLaunch(const ProductParams &params, bool isWide,
                     int64_t heads = 1);
/// Blocks of one matrix.
int64_t matrixBlocks(const ProductParams &params, bool isWide);

/// Rows of a tile: of a block.
int64_t tileRows(const ProductParams &params);

/// What a block of `tileLaunch` has.
struct BlockTile {
  Value panel, firstRow;

  /// `rows` of the matrix are in tiles, those that are dead, too.
  BlockTile(GpuBuilder &kb, const ProductParams &params, Value rows);
};

/// The product of the block's tile: weights are prefetched, then the kernel
/// waits for those before it. Of rows that are dead there is nothing.
void emitTileProduct(GpuBuilder &kb, const ProductParams &params,
                     const PanelProductSpec &spec, Value firstRow,
                     bool isWide = false);

/// The values of `output` plus the bias, if there is one.
Value addBias(GpuBuilder &kb, Value bias, const ProductOutput &output);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H
