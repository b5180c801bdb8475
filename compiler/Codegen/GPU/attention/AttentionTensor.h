//===- AttentionTensor.h - Attention in tensor cores ------------*- C++ -*-===//
//
// A block takes up to 16 queries: some rows of one slot times a tile of query
// heads that share a key head. It goes over blocks of 64 positions, from
// multiples of 64 on, so keys and values are read once for all queries. A query
// is a row of `mma.sync`, whose results depend on that row and on keys and
// values alone. So a row has the same bits alone and in a batch.
//
// A warp has the scores of 16 positions, the weights of every fourth query, and
// a quarter of the columns of the values. Keys and values go from memory to
// registers. A lane loads 16 bytes of a key, which are columns of two products.
// For values, a lane loads equal columns of neighbouring positions and
// interleaves the columns.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSOR_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSOR_H

#include "compiler/Codegen/GPU/attention/AttentionGroup.h"
#include <functional>

namespace mtp::codegen {

struct TensorDivision {
  explicit TensorDivision(const AttentionShape &shape);

  /// Returns true if keys and values have the layout that this class needs.
  static bool fits(const AttentionShape &shape);

  static constexpr int64_t threads = 128, warps = 4;
  static constexpr int64_t positions = 64, queries = 16;

  /// Number of query heads and number of rows of a block.
  int64_t tile, rows;
  /// Number of columns of a load of values, and number of loads of a lane for a
  /// position.
  int64_t valueStep, valueLoads;
};

class AttentionTensor {
public:
  AttentionTensor(GpuBuilder &kb, const AttentionShape &shape, float scale,
                  bool tree);

  /// Takes the queries of the group's rows. The query of the first row and of
  /// the tile's first head, number `head`, is at `q`.
  void open(const AttentionGroup &group, Value q, Value head);
  /// Adds up positions [begin, end) from zero. `begin` is a multiple of a
  /// block. Returns this thread's sums of values. Maxima and totals stay in
  /// shared memory until the next call.
  Values addUp(const AttentionGroup &group, Value begin, Value end);
  Value maximum(Value query) { return loadFloat(maxima, query); }
  Value total(Value query) { return loadFloat(totals, query); }
  void setTotal(Value total);
  Value loadFloat(Value base, Value index) {
    return kb.loadOwn(kb.f32Type(), kb.at(base, index, 4));
  }

  const TensorDivision &getDivision() const { return division; }
  int64_t resultCount() const { return shape.dv / 8; }
  /// Returns the query of one of the thread's results.
  Value queryOf(int64_t result) const {
    return result % 4 < 2 ? lowQuery : kb.add(lowQuery, 8);
  }
  /// Calls `body` with the number, query and column of each of the thread's
  /// results that exists.
  void forResults(const AttentionGroup &group,
                  llvm::function_ref<void(int64_t, Value, Value)> body);

private:
  struct Sums {
    /// Maxima, then totals, of the queries of a warp.
    Values states;
    /// Sums of a thread: four for each tile of eight columns.
    Values values;
  };
  /// Range [first, last) of a block that one row sees; it may be empty.
  struct Seen {
    Value first, last;
  };
  /// A block of positions from `start` on. All rows take part, or, for a tree,
  /// row `row` alone if it is not negative. `turn` counts the steps.
  struct Step {
    Value start, turn, row;
  };
  /// Steps over a range of positions.
  struct Steps {
    Value first, end;
    std::function<Step(Value)> at;
  };
  Steps stepsOf(const AttentionGroup &group, Value begin, Value end);
  Seen seenIn(std::pair<Value, Value> seen, Value start);
  Seen seenBy(Value query, std::pair<Value, Value> seen, const Step &step);
  void locate(const AttentionGroup &group, const Step &step);
  Sums addBlock(const AttentionGroup &group, const Step &step, const Step &next,
                Value isLast, Sums sums);
  Values multiplyKeys(const Step &step);
  void storeScores(ValueRange sums, const Step &step);
  void weigh(const AttentionGroup &group, Sums &sums);
  void weighQuery(Value query, Value &most, Value &total);
  Values loadStep(const Step &of, int64_t load, int64_t step);
  Values addStep(ValueRange words, int64_t step, Values sums);
  Values addRagged(const AttentionGroup &group, const Step &of,
                   llvm::function_ref<Values(int64_t)> wordsOf, Values values);
  Value isWhole(const AttentionGroup &group, const Step &of);
  Values addValues(const AttentionGroup &group, const Step &of,
                   llvm::ArrayRef<Values> ahead, ValueRange values);
  Values keepSeen(ValueRange words, int64_t step, const Seen &seen);
  Value placesOf(const Step &step);
  Value headOffset(int64_t width, int64_t offset);

  GpuBuilder &kb;
  const AttentionShape &shape;
  const TensorDivision division;
  const bool tree;
  const float scale;
  /// In shared memory: queries in bf16; scores; weights in bf16; places of
  /// entries, for two blocks in turn; factors of earlier sums; maxima and
  /// totals.
  Value queries, scores, weights, places, factors, maxima, totals;
  Value kvHead;
  /// Lane's indices in a fragment: `lowQuery` is the index of a query or a
  /// column, `pair` the index of a pair in the other dimension.
  Value lowQuery, pair;
  /// Ranges that the rows of the lane's queries see.
  std::pair<Value, Value> lowSeen, highSeen;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONTENSOR_H
