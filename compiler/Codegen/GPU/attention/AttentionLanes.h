//===- AttentionLanes.h - Attention of one row in a block -------*- C++ -*-===//
//
// A block takes one row and a tile of query heads that share a key head through
// runs of positions, 64 at a time from multiples of 64 on. Some threads have a
// position each for the scores of all heads; a warp has a head for its weights;
// and threads have columns of the values, for every so many positions. So a
// row's sums depend on its own data alone.
//
// Arithmetic is in f32, and a cache of bf16 is widened: this is the form for
// every configuration.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H
#define COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H

#include "compiler/Codegen/GPU/attention/AttentionView.h"

namespace mtp::codegen {

/// How a block's threads share the work.
struct LanesDivision {
  explicit LanesDivision(const AttentionShape &shape);

  static constexpr int64_t threads = 128;
  /// Shared memory that every launch may have.
  static constexpr int64_t sharedLimit = 48 * 1024;
  /// Positions of a block; parts begin and end with one.
  static constexpr int64_t positions = 64;
  static constexpr int64_t threadsPerKey = threads / positions;

  /// Query heads of a block.
  int64_t tile;
  /// Elements of a load of keys and of values.
  int64_t keyStep, valueStep;
  /// Loads of a key, those of a thread, and a query's floats with zeros behind
  /// it, so that threads have the same number.
  int64_t keyLoads, loadsPerThread, queryFloats;
  /// Loads of a value; threads that share a value, a power of two; loads of a
  /// value that a thread has; positions that are taken at once.
  int64_t valueLoads, threadsPerValue, valueLoadsPerThread, valuesAtOnce;
  /// Results of a thread, where each has every so many of the tile's.
  int64_t resultsPerThread;

  /// Bytes of shared memory.
  int64_t sharedBytes(const AttentionShape &shape) const;
};

class AttentionLanes {
public:
  AttentionLanes(GpuBuilder &kb, const AttentionShape &shape, float scale);

  /// Takes the queries of the tile at `q`, whose first head is `head`.
  void open(Value q, Value head);
  /// Adds up the positions [begin, end) of a row from nothing. The sums of
  /// values that the thread has; maxima and totals are in shared memory until
  /// the next call.
  Values addUp(const AttentionView &view, Value begin, Value end);
  Value maximum(Value head) { return loadFloat(maxima, head); }
  Value total(Value head) { return loadFloat(totals, head); }
  void setTotal(Value total, Value head);

  const LanesDivision &getDivision() const { return division; }
  /// Calls `body` with the number, head of the tile and column of each of the
  /// thread's results.
  void forResults(llvm::function_ref<void(int64_t, Value, Value)> body);
  /// The same without a condition: behind the last result comes the last one
  /// again.
  void forEachResult(llvm::function_ref<void(int64_t, Value)> body);
  /// Stores results, by their totals, at `y`.
  void close(ValueRange values, Value y);

private:
  struct Sums {
    /// Of a warp's heads: maxima, then totals.
    Values states;
    /// Of a thread's columns, ordered by load, head, element.
    Values values;
  };
  Sums addBlock(const AttentionView &view, Value start, Value begin, Value end,
                Sums sums);
  void score(const AttentionView &view, Value start, Value first, Value last,
             Value turn);
  Values products(Value key);
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
  /// In shared memory: queries; of two blocks in turn, scores that become
  /// weights and where entries lie; factors of what was added before; maxima
  /// and totals; what the threads of different positions have of the values.
  Value queries, scores, places, factors, maxima, totals, partial;
  Value kvHead;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONLANES_H
