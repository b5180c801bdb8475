//===- PreparedInputs.h - Inputs that another kernel prepared ---*- C++ -*-===//
//
// Loads the output of `prepare_rows` (PreparedRows.h) from memory to the
// registers of mma.sync. A lane has 16 bytes of a piece, or 8 bytes if groups
// have 32 inputs, and the bytes of a warp are contiguous. All blocks read the
// rows, so they stay in the L1 cache.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H

#include "compiler/Codegen/GPU/products/FragmentRows.h"
#include "dialects/Exec/IR/PreparedRows.h"

namespace mtp::codegen {

class PreparedInputs : public RowSource {
public:
  PreparedInputs(GpuBuilder &kb, const PanelProductSpec &spec,
                 const FragmentPass &pass)
      : kb(kb), spec(spec), pass(pass), layout{spec.format, spec.k} {}

  void find(Value firstRow, Value count) override;
  void prepare(Value first) override;
  llvm::SmallVector<Values> operands(Value chunk, int64_t place,
                                     int64_t rowTile) override;
  Values scales(Value chunk, int64_t place, int64_t rowTile) override;

private:
  Value number(int64_t value);
  Value at(Value base, Value bytes);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const FragmentPass pass;
  const exec::PreparedRows layout;
  /// For each row tile: offset of the lane's row in a piece, and, for integers,
  /// of the scales of its two columns in a group. Offsets are i32 bytes.
  Values rowPlaces, scalePlaces;
  /// The first piece and the scales of the first group of the block's rows, and
  /// the distances in bytes to the next piece and the next group.
  Value pieces, pieceBytes, groups, scaleBytes;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H
