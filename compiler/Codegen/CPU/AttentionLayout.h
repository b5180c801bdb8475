//===- AttentionLayout.h - Sizes and scratch of attention -------*- C++ -*-===//
//
// What the kernel and the target decide: how attention divides into tasks, how
// many positions a block has, and where things lie in a worker's scratch.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_ATTENTIONLAYOUT_H
#define COMPILER_CODEGEN_CPU_ATTENTIONLAYOUT_H

#include "compiler/Codegen/AttentionParams.h"
#include "compiler/Codegen/CPU/TargetDesc.h"

namespace mtp::codegen {

/// How attention divides into tasks. The task of a worker is a group of
/// consecutive rows and some query heads that share a key head; where positions
/// are split, also every so many parts of the positions. Tasks are in the order
/// of key heads, then groups, then the heads that share one; where positions
/// are split, of splits, then groups, then heads.
///
/// The code works on tiles: the heads of a row for which one state is kept. A
/// tile is the heads of one task, or of several tasks that one worker has.
struct AttentionDivision {
  AttentionDivision(const AttentionParams &params, int64_t rowsPerTask);

  int64_t tasks(int64_t rows) const {
    return (rows + rowsPerTask - 1) / rowsPerTask * tasksPerRow * splits;
  }

  int64_t rowsPerTask;
  /// Tasks among which the parts of one group's positions are dealt out, where
  /// there is no other group. With more the tasks stay as many for each, and
  /// what they stand for is divided by the groups (`TaskShare`).
  int64_t splits;
  /// Query heads of a task; tasks of one row, and those that share a key head.
  int64_t headsPerTask, tasksPerRow, tasksPerGroup;
  /// Heads of the tiles that there is code for, in falling order. The last are
  /// those of one task; a worker that has all tasks of a larger one takes it.
  llvm::SmallVector<int64_t, 2> tiles;
  /// Tasks of the same rows and key head that are taken together at most.
  int64_t tasksAtOnce() const { return std::min(tasksPerGroup, maxTasks); }

private:
  static constexpr int64_t maxTasks = 4;
};

/// Sizes and places for the code of one tile.
struct AttentionLayout {
  AttentionLayout(const AttentionParams &params, const TargetDesc &target,
                  const AttentionDivision &division, int64_t tile);

  AttentionDivision division;
  /// Heads of a tile, and the tiles of a row that have room in scratch.
  int64_t tile, tilesAtOnce;
  /// Heads that are scored at once: those of one task whatever the tile, so
  /// that all tiles give the same bits.
  int64_t scoreHeads;
  int64_t lanes, dk, dv;
  DType dtype;
  /// Whether products are of pairs of bf16 values (`dotBF16`).
  bool dot;
  int64_t bytes;
  /// How keys and values lie in pages.
  CacheLayout cache;
  /// Whether several rows read the values from a copy. Where entries with
  /// several key heads lie whole, those of one are far apart, often in few sets
  /// of the L1 cache.
  bool copiesValues;

  /// Positions that are added up apart from others, from a multiple of as many
  /// on; 0 if all are added up together.
  int64_t part;
  /// Parts that a row may have, and floats from one part of a row to the next,
  /// where what was added up is left for others to join.
  int64_t parts, partStride;
  /// Whether a task leaves its parts apart.
  bool leavesParts;
  /// Whether a task adds up several parts itself.
  bool joinsParts() const { return part != 0 && !leavesParts; }

  /// Positions of a block: two vectors, so that a query that is spread over all
  /// lanes serves two products.
  static constexpr int64_t vectorsPerBlock = 2;
  int64_t block() const { return vectorsPerBlock * lanes; }

  // Of pages, in bytes: from one page to the next; from one position's key to
  // the next one's, and from one head's key to the next one's.
  int64_t pageBytes() const { return cache.pageBytes(bytes); }
  int64_t positionBytes() const { return cache.share() * bytes; }
  int64_t headBytes() const {
    return (cache.heads > 1 ? cache.headStride() : dk) * bytes;
  }

  /// Units of 32 bits of a key: a pair of bf16 values or one f32.
  int64_t units() const { return (dk * bytes + 3) / 4; }
  int64_t paddedUnits() const { return llvm::alignTo(units(), lanes); }
  /// From one head's query to the next.
  int64_t queryBytes() const { return (dot ? paddedUnits() : dk) * 4; }

  /// Positions whose values are added in one step.
  int64_t positionsPerStep() const { return dot ? 2 : 1; }
  /// Columns of a value are taken in chunks of as many as fill one load. The
  /// columns of a chunk of bf16 become two vectors; see `laneOf`.
  int64_t vectorsPerChunk() const { return dtype == DType::BF16 ? 2 : 1; }
  int64_t chunk() const { return vectorsPerChunk() * lanes; }
  int64_t chunked() const { return dv / chunk() * chunk(); }
  int64_t restColumns() const { return dv - chunked(); }
  int64_t paddedColumns() const { return llvm::alignTo(dv, lanes); }
  /// The lane of a chunk's column in its vectors, one after another.
  int64_t laneOf(int64_t column) const;

  // Scratch, in bytes. All tasks share:
  /// where the key of each position of the block lies,
  int64_t pointers() const { return 0; }
  /// the keys of the block, unit after unit, each for all positions,
  int64_t keys() const { return pointers() + block() * 8; }
  /// where the value of each lies, and room for the values themselves,
  int64_t valuePointers() const { return keys() + units() * block() * 4; }
  int64_t copies() const { return valuePointers() + block() * 8; }
  int64_t copyBytes() const { return llvm::alignTo(dv * bytes, 64); }
  /// the value of a position that is not seen,
  int64_t zeros() const {
    return copies() + (copiesValues ? block() * copyBytes() : 0);
  }
  /// the first position that each row sees and the one behind the last.
  int64_t begins() const { return zeros() + llvm::alignTo(dv * bytes, 64); }
  int64_t ends() const { return begins() + division.rowsPerTask * 8; }
  /// States: one per row and tile.
  int64_t states() const {
    return llvm::alignTo(ends() + division.rowsPerTask * 8, 64);
  }
  int64_t scratchBytes() const {
    return states() + division.rowsPerTask * tilesAtOnce * stateBytes();
  }

  // What was added up of some positions, `sums`: the maxima of the scores and
  // the sums of the weights, one vector each with a segment per head; then the
  // sums of the values by weight, head after head.
  int64_t sumsMax() const { return 0; }
  int64_t sumsTotal() const { return lanes * 4; }
  int64_t sumsValues() const { return 2 * lanes * 4; }
  int64_t sumsBytes() const {
    return sumsValues() + tile * paddedColumns() * 4;
  }
  /// Room for them in a buffer whatever the target's vectors are.
  static constexpr int64_t mostLanes = 16;
  static int64_t sumsFloats(int64_t tile, int64_t dv) {
    return 2 * mostLanes + tile * llvm::alignTo(dv, mostLanes);
  }

  // Of a state: the sums of the positions so far, or of those of a part and of
  // the parts before; the scores of the block, head after head, which become
  // its weights in place; the factors of what was added before, like the
  // maxima; the queries as pairs of bf16, for dot products.
  int64_t stateSums() const { return 0; }
  int64_t stateJoined() const { return sumsBytes(); }
  int64_t stateScores() const { return (joinsParts() ? 2 : 1) * sumsBytes(); }
  int64_t stateFactors() const { return stateScores() + tile * block() * 4; }
  int64_t stateQueries() const { return stateFactors() + lanes * 4; }
  int64_t stateBytes() const {
    return stateQueries() + (dot ? tile * queryBytes() : 0);
  }
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ATTENTIONLAYOUT_H
