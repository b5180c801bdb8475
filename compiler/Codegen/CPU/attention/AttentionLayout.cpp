//===- AttentionLayout.cpp - Sizes and scratch of attention ---------------===//

#include "compiler/Codegen/CPU/attention/AttentionLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mtp::codegen;

/// Limit on the heads of a tile: their accumulators for two vectors of
/// positions or of columns fit in registers.
static constexpr int64_t maxTile = 4;

AttentionDivision::AttentionDivision(const AttentionParams &params,
                                     int64_t rowsPerTask)
    : rowsPerTask(rowsPerTask),
      tasksPerTile(std::max<int64_t>(params.tasksPerTile, 1)) {
  int64_t heads = params.qHeads;
  int64_t group = heads / params.kvHeads;
  headsPerTask = std::min(group, maxTile);
  while (group % headsPerTask != 0)
    --headsPerTask;
  // A full tile that has all heads of a row becomes two tasks, so that a second
  // worker has one. A worker with both tasks uses the full tile. The sums of
  // splits that another kernel joins always have the form of a task's tile.
  if (headsPerTask == heads && headsPerTask == maxTile) {
    if (!params.tasksPerTile)
      tiles.push_back(headsPerTask);
    headsPerTask /= 2;
  }
  tiles.push_back(headsPerTask);
  tasksPerRow = heads / headsPerTask;
  tasksPerGroup = group / headsPerTask;
}

AttentionLayout::AttentionLayout(const AttentionParams &params,
                                 const TargetDesc &target,
                                 const AttentionDivision &division,
                                 int64_t tile)
    : division(division), tile(tile),
      tilesAtOnce(tile > division.headsPerTask ? 1 : division.tasksAtOnce()),
      scoreHeads(division.headsPerTask), lanes(target.lanes), dk(params.dk),
      dv(params.dv), integers(params.dtype == DType::I8),
      dtype(!integers        ? params.dtype
            : target.bf16Dot ? DType::BF16
                             : DType::F32),
      dot(dtype == DType::BF16 && target.bf16Dot), bytes(byteWidth(dtype)),
      storedBytes(byteWidth(params.dtype)), cache(params.cache),
      keysAt(params.kOffset / cache.heads),
      valuesAt(params.vOffset / cache.heads),
      copiesValues(integers || (division.rowsPerTask > 1 && cache.heads == 1 &&
                                params.kvHeads > 1 && dv * bytes % 4 == 0)),
      split(params.split), splits(params.splits),
      splitStride(params.splitStride), leavesSplits(params.tasksPerTile != 0) {}

int64_t AttentionLayout::laneOf(int64_t column) const {
  if (vectorsPerChunk() == 1)
    return column;
  // Widening a load of pairs gives the even columns, then the odd columns.
  if (!dot)
    return column / 2 + column % 2 * lanes;
  // Two entries are merged within blocks of 128 bits, the lower halves first.
  int64_t block = column / 8, place = column % 8;
  return block * 4 + place % 4 + place / 4 * lanes;
}
