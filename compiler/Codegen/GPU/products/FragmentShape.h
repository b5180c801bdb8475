//===- FragmentShape.h - How a product on tensor cores is divided -*- C++ -*-=//
//
// Weights in the order of fragments are streamed in chunks: 32 inputs in bf16,
// a group in integers. Chunk c is warp c mod `warps`' one. All that says which
// number is added to which follows from here, and so from inputs and format.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H

#include "compiler/Codegen/GPU/products/PanelProduct.h"
#include "runtime/schema/IntegerFragments.h"

namespace mtp::codegen {

/// Most rows that meet the weights once: four tiles of mma.sync's 8.
inline constexpr int64_t kFragmentRows = 32, kRowTile = 8;

/// Reports unless panels have a warp's outputs, and rows begin at multiples of
/// 16 bytes where their first one does, which fragments need: the contract says
/// so of the first one.
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
  /// Inputs of a chunk; the last one of integers may have fewer, of which each
  /// 32 are a unit.
  int64_t chunkInputs() const {
    return isInteger() ? format.group : FragmentOrder::kInputs;
  }
  int64_t units() const { return chunkInputs() / FragmentOrder::kInputs; }
  int64_t chunks() const { return llvm::divideCeil(k, chunkInputs()); }
  int64_t fullChunks() const { return k / chunkInputs(); }
  int64_t restInputs() const { return k % chunkInputs(); }
  int64_t chunkBytes() const;
  int64_t panelBytes() const;

  /// Bytes of a row of a chunk where mma.sync takes it from.
  int64_t rowBytes() const { return isInteger() ? format.group : 64; }
  /// Registers of a chunk of a tile in a thread.
  int64_t registers() const;

  /// Warps of a block, which takes half of a processor: 16 have 64 registers a
  /// thread, 8 have 128. Integers need more than 64, since their rows are
  /// quantised beside the products; short sums have fewer chunks.
  int64_t warps() const {
    return isInteger() || chunks() < 16 ? kProductWarps : 16;
  }
  int64_t threads() const { return warps() * kWarp; }
};

/// Threads of a block of a product, on tensor cores or not.
int64_t productThreads(const ProductParams &params);
/// Blocks of it that shall fit on a processor: on tensor cores each takes half.
inline int64_t blocksPerProcessor(const ProductParams &params) {
  return params.fragments ? 2 : 0;
}

/// How a block goes over its rows and weights, `rowTiles` of 8 rows.
struct FragmentPass {
  int64_t rowTiles;
  /// Tiles of outputs whose sums a warp has at once.
  int64_t height;
  /// Chunks of each of them that a warp has on the way, and for how many it
  /// prepares the rows at once.
  int64_t stages, prepared;

  /// The pass over a block of `height` tiles.
  static FragmentPass get(const FragmentShape &shape, int64_t height,
                          int64_t rowTiles, bool gathersRows,
                          bool arePrepared = false);
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTSHAPE_H
