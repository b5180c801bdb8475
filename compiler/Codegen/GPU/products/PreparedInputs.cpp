//===- PreparedInputs.cpp - Inputs that another kernel prepared -----------===//

#include "compiler/Codegen/GPU/products/PreparedInputs.h"

using namespace mtp::codegen;

/// Number of lanes that share a row's inputs of a piece, and number of columns
/// of a lane's sums.
static constexpr int64_t kRowLanes = 4, kColumns = 2;

Value PreparedInputs::number(int64_t value) {
  return kb.constant(kb.i32Type(), double(value));
}

/// Returns `base` plus `bytes` (i32), which take one register instead of a
/// pair. The contract of the kernel keeps the buffer small enough.
Value PreparedInputs::at(Value base, Value bytes) {
  return kb.at(base, kb.extendUnsigned(bytes, kb.i64Type()), 1);
}

/// Finds the rows. Rows that a tile lacks are multiplied as well, using the
/// last row.
void PreparedInputs::find(Value firstRow, Value count) {
  Value lane = kb.truncate(kb.laneOfWarp(), kb.i32Type());
  Value last = kb.sub(kb.truncate(count, kb.i32Type()), number(1));
  Value ofRow = kb.rem(lane, number(kRowLanes));
  for (int64_t tile = 0; tile < pass.rowTiles; ++tile) {
    Value first = number(tile * kRowTile);
    Value row = kb.min(kb.add(first, kb.div(lane, number(kRowLanes))), last);
    rowPlaces.push_back(
        kb.add(kb.mul(row, number(layout.pieceBytes())),
               kb.mul(ofRow, number(layout.pieceBytes() / kRowLanes))));
    if (!layout.isInteger())
      continue;
    Value column = kb.min(kb.add(first, kb.mul(ofRow, number(kColumns))),
                          kb.bitAnd(last, number(-kColumns)));
    scalePlaces.push_back(kb.mul(column, number(4)));
  }
  Value rows = kb.truncate(spec.rows, kb.i32Type());
  pieceBytes = kb.mul(rows, number(layout.pieceBytes()));
  pieces = kb.at(spec.prepared, firstRow, layout.pieceBytes());
  if (!layout.isInteger())
    return;
  Value even = kb.bitAnd(kb.add(rows, number(1)), number(-kColumns));
  scaleBytes = kb.mul(even, number(4));
  groups = at(kb.at(spec.prepared, firstRow, 4),
              kb.mul(pieceBytes, number(layout.pieces())));
}

/// Prepares nothing but, for integers, a warp barrier. It keeps ptxas from
/// loading the rows of all stages at once and spilling, because ptxas moves no
/// load over a barrier.
void PreparedInputs::prepare(Value) {
  if (layout.isInteger())
    kb.syncWarp();
}

llvm::SmallVector<Values> PreparedInputs::operands(Value chunk, int64_t,
                                                   int64_t rowTile) {
  // Widened weights leave no registers for the rows of two tiles at once.
  if (spec.format.bits() == 4 && rowTile > 0)
    kb.syncWarp();
  int64_t inputs = layout.isInteger() ? layout.format.group : 32;
  int64_t ofChunk = inputs / layout.pieceInputs();
  int64_t laneBytes = layout.pieceBytes() / kRowLanes;
  Value first = kb.mul(kb.truncate(chunk, kb.i32Type()), number(ofChunk));
  Value place = kb.add(kb.mul(first, pieceBytes), rowPlaces[rowTile]);
  llvm::SmallVector<Values> units;
  for (int64_t piece = 0; piece < ofChunk; ++piece) {
    Values words = kb.loadWords(at(pieces, place), laneBytes / 4);
    if (!layout.isInteger())
      return {words};
    for (size_t unit = 0; unit < words.size(); unit += 2)
      units.push_back({words[unit], words[unit + 1]});
    if (piece + 1 < ofChunk)
      place = kb.add(place, pieceBytes);
  }
  return units;
}

Values PreparedInputs::scales(Value chunk, int64_t, int64_t rowTile) {
  Value ofChunk = kb.mul(kb.truncate(chunk, kb.i32Type()), scaleBytes);
  Value from = at(groups, kb.add(ofChunk, scalePlaces[rowTile]));
  Value pair = kb.loadOwn(kb.vectorType(kb.f32Type(), kColumns), from);
  return {kb.element(pair, 0), kb.element(pair, 1)};
}
