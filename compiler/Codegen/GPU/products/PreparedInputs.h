//===- PreparedInputs.h - Rows that another kernel prepared -----*- C++ -*-===//
//
// What `prepare_rows` wrote (PreparedRows.h) goes from memory to the registers
// of mma.sync: a lane has 16 bytes of a piece, or 8 of groups of 32, and a
// warp's are one stretch. All blocks read them, so they stay in the L1 cache.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H

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
  /// Of each row tile: where the lane's row begins in a piece, and, of
  /// integers, the scales of its two columns in a group. Bytes are i32.
  Values rowPlaces, scalePlaces;
  /// The first piece, and scales of the first group, of the block's rows, and
  /// bytes from each to the next one.
  Value pieces, pieceBytes, groups, scaleBytes;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_PREPAREDINPUTS_H
