//===- Linear.h - Shared code of projections --------------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H

#include "compiler/Codegen/GPU/products/FragmentProduct.h"

namespace mtp::codegen {

/// Returns the product spec of a projection over `buffers`.
PanelProductSpec productSpec(const ProjectionBuffers &buffers,
                             const ProductParams &params);

/// Returns a launch with a block for every tile of rows and every panel of
/// `heads` matrices. A block of a product on fragments may have half a panel.
GpuLaunch tileLaunch(const ProductParams &params, bool isWide,
                     int64_t heads = 1);
/// Returns the number of blocks of one matrix for a tile of rows.
int64_t matrixBlocks(const ProductParams &params, bool isWide);

/// Returns the number of rows in a block's tile.
int64_t tileRows(const ProductParams &params);

/// Panel and first row of a block of `tileLaunch`.
struct BlockTile {
  Value panel, firstRow;

  /// `rows` is the number of rows of the matrix, including padding rows.
  BlockTile(GpuBuilder &kb, const ProductParams &params, Value rows);
};

/// Emits the product of the block's tile. Weights are prefetched, then the
/// kernel waits for the kernels before it. Padding rows are skipped.
void emitTileProduct(GpuBuilder &kb, const ProductParams &params,
                     const PanelProductSpec &spec, Value firstRow,
                     bool isWide = false);

/// Returns the values of `output` plus the bias, if there is one.
Value addBias(GpuBuilder &kb, Value bias, const ProductOutput &output);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_LINEAR_H
