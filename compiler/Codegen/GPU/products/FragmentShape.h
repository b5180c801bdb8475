//===- FragmentShape.h - Division of tensor-core products -------*- C++ -*-===//
//
// Weights in the order of fragments are streamed in chunks: 32 inputs in bf16,
// or a group of integers. Warp c mod `warps` takes chunk c. This file alone
// decides which numbers are added up together, from the number of inputs and
// the format.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H

#include "compiler/Codegen/GPU/products/PanelProduct.h"
#include "runtime/schema/IntegerFragments.h"

namespace mtp::codegen {

/// Maximum number of rows for which the weights are read once: four tiles of
/// the 8 rows of mma.sync. Semantic: passes have 8, 16 or 32 rows.
inline constexpr int64_t kFragmentRows = 32, kRowTile = 8;

/// Fails unless panels have 32 outputs. For fragments, also fails unless every
/// row begins at a multiple of 16 bytes if the first one does. The kernel's
/// contract requires that of the first one.
template <typename KernelT>
mlir::LogicalResult verifyOnGpu(KernelT kernel, EmitError emitError) {
  if (failed(verifyPanels(kernel, emitError)) || !kernel.getFragments())
    return verifyPanels(kernel, emitError);
  auto check = [&](llvm::StringRef name, int64_t value) -> mlir::LogicalResult {
    if (value % 4 == 0)
      return mlir::success();
    return emitError() << "expected " << name
                       << " to be a multiple of 4 where weights are in the "
                          "order of fragments, got "
                       << value;
  };
  if constexpr (requires { kernel.getXStride(); })
    if (failed(check("x_stride", kernel.getXStride())))
      return mlir::failure();
  if constexpr (requires { kernel.getXHeadStride(); })
    if (failed(check("x_head_stride", kernel.getXHeadStride())) ||
        failed(check("x_offset", kernel.getXOffset())))
      return mlir::failure();
  return mlir::success();
}

struct FragmentShape {
  WeightFormat format;
  int64_t k;

  bool isInteger() const { return format.isQuantized(); }
  IntegerFragments integers() const { return format.fragments(k); }
  /// Returns the number of inputs of a chunk. The last chunk of integers may
  /// have fewer. Each 32 inputs are a unit.
  int64_t chunkInputs() const {
    return isInteger() ? format.group : FragmentOrder::kInputs;
  }
  int64_t units() const { return chunkInputs() / FragmentOrder::kInputs; }
  int64_t chunks() const { return llvm::divideCeil(k, chunkInputs()); }
  int64_t fullChunks() const { return k / chunkInputs(); }
  int64_t restInputs() const { return k % chunkInputs(); }
  int64_t chunkBytes() const;
  int64_t panelBytes() const;

  /// Returns the bytes of a row of a chunk in the form that mma.sync takes.
  int64_t rowBytes() const { return isInteger() ? format.group : 64; }
  /// Returns the number of registers of a thread for a chunk of a tile.
  int64_t registers() const;

  /// Returns the number of warps of a block, which takes half of a processor:
  /// 16 warps have 64 registers a thread, 8 have 128. Integers need more than
  /// 64, because their rows are quantised next to the products. Short sums have
  /// fewer chunks.
  int64_t warps() const {
    return isInteger() || chunks() < 16 ? kProductWarps : 16;
  }
  int64_t threads() const { return warps() * kWarp; }
};

/// Returns the number of threads in a block of a product, on tensor cores or
/// not.
int64_t productThreads(const ProductParams &params);
/// Returns the number of blocks that must fit on a processor; 0 if ptxas may
/// choose. On tensor cores, each block takes half.
inline int64_t blocksPerProcessor(const ProductParams &params) {
  if (params.fragments)
    return 2;
  return params.format.isQuantized() ? integerBlocks(params) : 0;
}

/// How a block goes over its rows and weights. `rowTiles` is the number of
/// tiles of 8 rows.
struct FragmentPass {
  int64_t rowTiles;
  /// Number of tiles of outputs whose sums a warp has at once.
  int64_t height;
  /// Number of chunks of each tile that a warp has in flight, and number of
  /// chunks whose rows it prepares at once.
  int64_t stages, prepared;

  /// Returns the pass over a block of `height` tiles.
  static FragmentPass get(const FragmentShape &shape, int64_t height,
                          int64_t rowTiles, bool gathersRows,
                          bool arePrepared = false);
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H
