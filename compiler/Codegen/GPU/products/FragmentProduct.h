//===- FragmentProduct.h - Products on tensor cores -------------*- C++ -*-===//
//
// Products on weights that are packed in the order of the fragments of mma.sync
// (`#exec.panels<32, fragments = true>`, runtime/schema/FragmentOrder.h and
// IntegerFragments.h). 16 bytes of a lane are the weights that one instruction
// needs. Weights are on its M side and rows on its N side. A block has up to 32
// rows and one tile of 16 outputs, or the tiles of a gate and an up projection,
// or both tiles of a panel. Its warps take turns in chunks of the inputs. Which
// warp adds up which chunk, and in which order, depends only on the number of
// inputs and the format.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTPRODUCT_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTPRODUCT_H

#include "compiler/Codegen/GPU/products/FragmentRows.h"
#include "compiler/Codegen/GPU/products/FragmentWeights.h"
#include <memory>

namespace mtp::codegen {

/// Returns the number of blocks for each tile of rows: one for each tile of
/// outputs, or for each panel if `isWide`.
int64_t fragmentBlocks(int64_t n, bool gated, bool isWide);

class FragmentProduct {
public:
  /// `spec.panel` is the block's tile of outputs, or its panel if `isWide`.
  /// With `isWide`, the lanes of a warp have all outputs of a row in the panel.
  FragmentProduct(GpuBuilder &kb, const PanelProductSpec &spec, bool isWide);

  /// Emits a kernel's wait, then the code that takes the number of rows.
  using Wait = llvm::function_ref<void(llvm::function_ref<void(Value rows)>)>;
  /// Emits all outputs of the block for up to 32 rows from `firstRow` on. The
  /// first weights, which never change, are loaded before `wait`.
  void emitTile(Value firstRow, Wait wait);

private:
  /// Returns the number of tiles of a block.
  int64_t height() const { return spec.gated || isWide ? 2 : 1; }
  bool isEven(const FragmentPass &pass) const {
    return shape.chunks() % (kb.warps() * pass.stages) == 0;
  }

  /// Returns true if a number in memory says how many rows are active.
  bool readsActive() const { return kb.takesActive() && !spec.gathersRows; }
  FragmentPass passOf(int64_t rowTiles) const {
    // Two tiles of integers leave no register for the number either, nor do
    // more bf16 chunks in flight.
    bool isTight =
        readsActive() && (shape.isInteger() ? spec.gated : bool(spec.prepared));
    return FragmentPass::get(shape, height(), rowTiles,
                             spec.gathersRows || isTight, bool(spec.prepared));
  }

  void emitPass(const FragmentPass &pass, Value firstRow, Wait wait);
  Values loadChunk(const FragmentPass &pass, Value tile, Value chunk);
  Values loadFirst(const FragmentPass &pass, Value tile);
  std::unique_ptr<RowSource> rowsOf(const FragmentPass &pass);
  Values sumChunks(const FragmentPass &pass, Value tile, RowSource &rows,
                   Values state);
  void sumTiles(const FragmentPass &pass, RowSource &rows, const Values &held);
  Values addChunk(const FragmentPass &pass, RowSource &rows, Value chunk,
                  int64_t place, ValueRange held, ValueRange sums);

  void storeSums(const FragmentPass &pass, ValueRange sums);
  Value total(const FragmentPass &pass, Value tile, Value row, Value output);
  Value keptPlace(Value tile, Value row, Value output);
  void keepTotals(const FragmentPass &pass, Value tile);
  void storeOutputs(const FragmentPass &pass, Value firstRow, Value all);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const bool isWide;
  const FragmentShape shape;
  FragmentWeights weights;
  RowPlaces places;
  /// Rows and sums of all warps, the area of this warp, and totals of tiles
  /// that are multiplied one after another.
  Value areas, ownArea, totals;
  int64_t areaBytes = 0;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTPRODUCT_H
