//===- AttentionLayout.h - Sizes and scratch of attention -------*- C++ -*-===//
//
// The kernel and the target decide the division of attention into tasks, the
// number of positions in a block, and the layout of a worker's scratch.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONLAYOUT_H
#define MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONLAYOUT_H

#include "compiler/Codegen/AttentionParams.h"
#include "compiler/Codegen/CPU/target/TargetDesc.h"

namespace mtp::codegen {

/// Division of attention into tasks. A task has a group of consecutive rows and
/// some query heads that share a key head. If the context is split, the task
/// also has only some of the splits. Tasks are ordered by key head, then by
/// group, then by the heads that share a key head. If the context is split,
/// tasks are ordered by share of the splits, then by group, then by heads.
///
/// A tile is the heads of a row for which the code keeps one state: the heads
/// of one task, or of several tasks of one worker.
struct AttentionDivision {
  AttentionDivision(const AttentionParams &params, int64_t rowsPerTask);

  int64_t tasks(int64_t rows) const {
    return (rows + rowsPerTask - 1) / rowsPerTask * tasksPerRow * tasksPerTile;
  }

  int64_t rowsPerTask;
  /// Number of tasks among which the context splits of a row group are dealt if
  /// there is only one group. With several groups, each group still has this
  /// number of tasks, but its splits are dealt among fewer (`TaskShare`).
  int64_t tasksPerTile;
  /// Query heads of a task; tasks of one row, and tasks that share a key head.
  int64_t headsPerTask, tasksPerRow, tasksPerGroup;
  /// Heads of each tile that the kernel has code for, in descending order. The
  /// last tile is one task. A worker that has all tasks of a larger tile uses
  /// that tile.
  llvm::SmallVector<int64_t, 2> tiles;
  /// Returns the limit on tasks of one row group and key head taken together.
  int64_t tasksAtOnce() const { return std::min(tasksPerGroup, maxTasks); }

private:
  static constexpr int64_t maxTasks = 4;
};

/// Sizes and scratch offsets for the code of one tile.
struct AttentionLayout {
  AttentionLayout(const AttentionParams &params, const TargetDesc &target,
                  const AttentionDivision &division, int64_t tile);

  AttentionDivision division;
  /// Heads of a tile, and the number of tiles of a row that scratch has room
  /// for.
  int64_t tile, tilesAtOnce;
  /// Heads that are scored at once: the heads of one task in every tile, so
  /// that all tiles give equal bits.
  int64_t scoreHeads;
  int64_t lanes, dk, dv;
  /// True if pages hold integers. Scratch then holds them as bf16 (for dot
  /// products) or f32, which represent them exactly. Their scales multiply
  /// scores and weights.
  bool integers;
  /// Element type of keys and values in scratch.
  DType dtype;
  /// True if products are of pairs of bf16 values (`dotBF16`).
  bool dot;
  /// Bytes of an element in scratch and in pages.
  int64_t bytes, storedBytes;
  /// Layout of keys and values in pages.
  CacheLayout cache;
  /// Columns of keys and of values in a share.
  int64_t keysAt, valuesAt;
  /// True if rows read the values from a copy. Integers are widened in it. In
  /// whole entries with several key heads, the values of one head are far
  /// apart, often in few sets of the L1 cache, so several rows share a copy.
  bool copiesValues;

  /// Positions in one split; 0 if the context is not split. A split begins at a
  /// multiple of its size, and its sums start from zero.
  int64_t split;
  /// Limit on the splits of a row, and floats from one split of a row to the
  /// next, in a buffer of sums for another kernel.
  int64_t splits, splitStride;
  /// True if a task stores the sums of its splits for another kernel to join.
  bool leavesSplits;
  /// Returns whether a task joins the sums of several splits itself.
  bool joinsSplits() const { return split != 0 && !leavesSplits; }

  /// Positions of a block: two vectors, so that a query element that is
  /// broadcast to all lanes serves two products.
  static constexpr int64_t vectorsPerBlock = 2;
  int64_t block() const { return vectorsPerBlock * lanes; }

  // Strides in pages, in bytes: from one page to the next, from one position's
  // key to the next, and from one head's key to the next.
  int64_t pageBytes() const { return cache.pageBytes(storedBytes); }
  int64_t positionBytes() const { return cache.share() * storedBytes; }
  int64_t headBytes() const {
    return (cache.heads > 1 ? cache.headStride() : dk) * storedBytes;
  }
  /// Returns the bytes from a key of integers to the scale of columns that are
  /// written at `column` of a share.
  int64_t scaleBehindKey(int64_t column) const {
    return cache.scaleOffset(column) - keysAt;
  }
  /// Returns the columns of an integer key that have the scale of the values;
  /// the other columns have the second scale. 0 if a key has one scale.
  int64_t latentColumns() const {
    return integers && keysAt == valuesAt && dv < dk ? dv : 0;
  }

  /// Returns the 32-bit units of a key: a pair of bf16 values or one f32 each.
  int64_t units() const { return (dk * bytes + 3) / 4; }
  int64_t paddedUnits() const { return llvm::alignTo(units(), lanes); }
  /// Returns the bytes from one head's query to the next.
  int64_t queryBytes() const { return (dot ? paddedUnits() : dk) * 4; }

  /// Returns the number of positions whose values are added in one step.
  int64_t positionsPerStep() const { return dot ? 2 : 1; }
  /// Columns of a value are taken in chunks that fill one load. The columns of
  /// a chunk of bf16 become two vectors; see `laneOf`.
  int64_t vectorsPerChunk() const { return dtype == DType::BF16 ? 2 : 1; }
  int64_t chunk() const { return vectorsPerChunk() * lanes; }
  int64_t chunked() const { return dv / chunk() * chunk(); }
  int64_t restColumns() const { return dv - chunked(); }
  int64_t paddedColumns() const { return llvm::alignTo(dv, lanes); }
  /// Returns the lane of a chunk's column in the chunk's vectors, counted
  /// through both vectors.
  int64_t laneOf(int64_t column) const;

  // Offsets in scratch, in bytes. All tasks share the parts before `states`.
  /// Pointers to the key of each position of the block.
  int64_t pointers() const { return 0; }
  /// Keys of the block: unit after unit, each for all positions.
  int64_t keys() const { return pointers() + block() * 8; }
  /// Pointers to the value of each position, and room for copies of the values.
  int64_t valuePointers() const { return keys() + units() * block() * 4; }
  int64_t copies() const { return valuePointers() + block() * 8; }
  int64_t copyBytes() const { return llvm::alignTo(dv * bytes, 64); }
  /// Returns the value of a position that a row does not see.
  int64_t zeros() const {
    return copies() + (copiesValues ? block() * copyBytes() : 0);
  }
  /// Scales of integers, one of each position: of the keys, of the values, and
  /// of the key columns after `latentColumns`.
  int64_t keyScales() const { return zeros() + llvm::alignTo(dv * bytes, 64); }
  int64_t valueScales() const { return keyScales() + block() * 4; }
  int64_t restScales() const { return valueScales() + block() * 4; }
  /// Return the first position that each row sees, and the end of the positions
  /// it sees.
  int64_t begins() const {
    return keyScales() + (integers ? 3 * block() * 4 : 0);
  }
  int64_t ends() const { return begins() + division.rowsPerTask * 8; }
  /// States, one for each row and tile.
  int64_t states() const {
    return llvm::alignTo(ends() + division.rowsPerTask * 8, 64);
  }
  int64_t scratchBytes() const {
    return states() + division.rowsPerTask * tilesAtOnce * stateBytes();
  }

  // Offsets in `sums`, the sums over some positions. First come the maxima of
  // the scores and the sums of the weights, one vector each with a segment per
  // head. Then come the sums of the weighted values, head after head.
  int64_t sumsMax() const { return 0; }
  int64_t sumsTotal() const { return lanes * 4; }
  int64_t sumsValues() const { return 2 * lanes * 4; }
  int64_t sumsBytes() const {
    return sumsValues() + tile * paddedColumns() * 4;
  }
  /// Largest number of lanes of any target. `sumsFloats` gives `sums` room for
  /// it.
  static constexpr int64_t mostLanes = 16;
  static int64_t sumsFloats(int64_t tile, int64_t dv) {
    return 2 * mostLanes + tile * llvm::alignTo(dv, mostLanes);
  }

  // Offsets in a state. `stateSums`: sums of the positions so far, or of the
  // current split. `stateJoined`: sums of the earlier splits. `stateScores`:
  // scores of the block, head after head, which weights replace in place.
  // `stateFactors`: factors for the earlier sums, in the layout of the maxima.
  // `stateQueries`: the queries as pairs of bf16, for dot products.
  int64_t stateSums() const { return 0; }
  int64_t stateJoined() const { return sumsBytes(); }
  int64_t stateScores() const { return (joinsSplits() ? 2 : 1) * sumsBytes(); }
  int64_t stateFactors() const { return stateScores() + tile * block() * 4; }
  int64_t stateQueries() const { return stateFactors() + lanes * 4; }
  int64_t stateBytes() const {
    return stateQueries() + (dot ? tile * queryBytes() : 0);
  }
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONLAYOUT_H
