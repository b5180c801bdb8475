//===- FragmentProduct.h - Products on tensor cores -------------*- C++ -*-===//
//
// Products on weights of bf16 that are packed in the order of the fragments of
// mma.sync (`#exec.panels<32, fragments = true>`, runtime/schema/
// FragmentOrder.h), so that 16 bytes of a lane are what one instruction needs.
// Weights are on its M side and rows on its N side. A block has one tile of 16
// outputs, or a gate's and an up's, or both of a panel, and 8 rows; its warps
// take turns in chunks of 32 inputs. Which warp adds up what, and in which
// order, depends on the number of inputs alone.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_FRAGMENTPRODUCT_H
#define COMPILER_CODEGEN_GPU_FRAGMENTPRODUCT_H

#include "compiler/Codegen/GPU/PanelProduct.h"

namespace mtp::codegen {

/// Whether a kernel's weights are in the order of fragments.
bool hasFragments(const KernelConfig &config);

/// Blocks for each tile of rows: those of all tiles of outputs, or of panels
/// where `isWide`.
int64_t fragmentBlocks(int64_t n, bool gated, bool isWide);
int64_t fragmentThreads(int64_t k);

class FragmentProduct {
public:
  /// `spec.panel` is the block's tile of outputs, or its panel where `isWide`;
  /// a warp has all of a row's outputs of a panel then, in its lanes.
  FragmentProduct(GpuBuilder &kb, const PanelProductSpec &spec, bool isWide);

  /// Loads what a warp needs first of the weights, which never change: it may
  /// come before the kernel's wait.
  Values loadFirst();
  /// All outputs of the block for the 8 rows from `firstRow` on.
  void emitTile(Value firstRow, Values first);

private:
  /// Tiles of a block, and chunks of each that a warp has on the way.
  int64_t height() const { return spec.gated || isWide ? 2 : 1; }
  int64_t stages() const { return 2 / height(); }
  int64_t chunks() const;
  bool isEven() const { return chunks() % (kb.warps() * stages()) == 0; }

  Value tilePointer(int64_t which);
  Values loadChunk(Value chunk);
  Values loadChunkIf(Value chunk, llvm::function_ref<Values()> otherwise);
  void findRow(Value firstRow);
  void sumSquares(Value firstRow);
  Values loadEight(Value from, Value isAligned);
  Values loadInputs(Value chunk);
  Values packInputs(Value chunk, ValueRange inputs);
  Values sumChunks(Values held);
  void join(Value firstRow, ValueRange sums);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const bool isWide;
  Value sumsPlace, squaresPlace;
  /// Of the lane's row: where it lies, whether that is at a multiple of 16
  /// bytes, and the scale of its norm.
  Value row, isAligned, inverse;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_FRAGMENTPRODUCT_H
