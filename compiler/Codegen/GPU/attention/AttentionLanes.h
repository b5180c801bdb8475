//===- AttentionLanes.h - Attention of one row in a block -------*- C++ -*-===//
//
// A block takes one row and a tile of query heads that share a key head. It
// goes over runs of positions, 64 at a time, from multiples of 64 on. For the
// scores, a few threads share one position and compute it for all heads. For
// the weights, a warp has a head. For the values, a thread has some columns of
// every n-th position. So the sums of a row depend on its own data alone.
//
// Arithmetic is in f32, and a cache of bf16 or of integers is widened. Scales
// of integers multiply scores and values. This form supports every
// configuration.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H

#include "compiler/Codegen/GPU/attention/AttentionView.h"

namespace mtp::codegen {

/// Division of work among the threads of a block.
struct LanesDivision {
  explicit LanesDivision(const AttentionShape &shape);

  static constexpr int64_t threads = 128;
  /// Shared memory that every launch may have, in bytes.
  static constexpr int64_t sharedLimit = int64_t(48) * 1024;
  /// Number of positions of a block. Parts begin and end at block boundaries.
  static constexpr int64_t positions = 64;
  static constexpr int64_t threadsPerKey = threads / positions;

  /// Number of query heads of a block.
  int64_t tile;
  /// Number of elements in a load of keys and in a load of values.
  int64_t keyStep, valueStep;
  /// Number of loads of a key, number of these per thread, and number of floats
  /// of a query. The query is padded with zeros so that all threads have
  /// `loadsPerThread` loads.
  int64_t keyLoads, loadsPerThread, queryFloats;
  /// Number of loads of a value; number of threads that share a value, a power
  /// of two; number of loads of a value per thread; number of positions taken
  /// at once.
  int64_t valueLoads, threadsPerValue, valueLoadsPerThread, valuesAtOnce;
  /// Number of results of a thread. Thread t has the results t, t + threads,
  /// ... of the tile.
  int64_t resultsPerThread;

  /// Returns the size of the shared memory in bytes.
  int64_t sharedBytes(const AttentionShape &shape) const;
};

class AttentionLanes {
public:
  AttentionLanes(GpuBuilder &kb, const AttentionShape &shape, float scale);

  /// Takes the queries of the tile at `q`. `head` is its first head.
  void open(Value q, Value head);
  /// Adds up the positions [begin, end) of a row from zero. Returns this
  /// thread's sums of values. Maxima and totals stay in shared memory until the
  /// next call.
  Values addUp(const AttentionView &view, Value begin, Value end);
  Value maximum(Value head) { return loadFloat(maxima, head); }
  Value total(Value head) { return loadFloat(totals, head); }
  void setTotal(Value total, Value head);

  const LanesDivision &getDivision() const { return division; }
  /// Calls `body` with the number, head (within the tile) and column of each of
  /// the thread's results.
  void forResults(llvm::function_ref<void(int64_t, Value, Value)> body);
  /// Calls `body` with the number and head of each result, without a condition.
  /// After the last result of the tile, the last one is repeated.
  void forEachResult(llvm::function_ref<void(int64_t, Value)> body);
  /// Divides results by their totals and stores them at `y`.
  void close(ValueRange values, Value y);

private:
  struct Sums {
    /// Maxima, then totals, of the heads of a warp.
    Values states;
    /// Sums of a thread's columns, ordered by load, head, element.
    Values values;
  };
  Sums addBlock(const AttentionView &view, Value start, Value begin, Value end,
                Sums sums);
  void score(const AttentionView &view, Value start, Value first, Value last,
             Value turn);
  Values products(Value key);
  Value loadScale(Value entry, int64_t offset);
  Values scaleLatent(ValueRange elements, Value load, Value key);
  void weigh(Value turn, Sums &sums);
  Values scaleValues(ValueRange values);
  Values addValues(Value turn, Value first, Value last, Values values);
  void addValue(ValueRange elements, Value place, Value weights,
                Values &values);
  Values loadValue(Value places, Value place);
  Values collect(const Sums &sums);
  Values loadElements(Value pointer, int64_t count, Value mask = {});
  Values loadQuery(Value pointer);

  Value loadFloat(Value base, Value index) {
    return kb.loadOwn(kb.f32Type(), kb.at(base, index, 4));
  }
  int64_t headsPerWarp() const {
    return llvm::divideCeil(division.tile, kb.warps());
  }

  GpuBuilder &kb;
  const AttentionShape &shape;
  const LanesDivision division;
  const float scale;
  /// In shared memory: queries; scores (which become weights) and places of
  /// entries, for two blocks in turn; factors of earlier sums; maxima and
  /// totals; partial sums of values of the threads with different positions.
  Value queries, scores, places, factors, maxima, totals, partial;
  Value kvHead;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H
