//===- AttentionBlock.h - One block of positions of attention ---*- C++ -*-===//
//
// Attention goes over blocks of positions. What depends on the block alone is
// done once for all rows and heads of a task. Then every state, of one row and
// one tile of heads, takes the block in. A state depends only on the row's
// query and on the positions that the row sees, so that other rows change none
// of its bits.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_ATTENTIONBLOCK_H
#define COMPILER_CODEGEN_CPU_ATTENTIONBLOCK_H

#include "compiler/Codegen/CPU/AttentionLayout.h"
#include "compiler/Codegen/CPU/CpuBuilder.h"

namespace mtp::codegen {

class AttentionBlock {
public:
  AttentionBlock(CpuBuilder &kb, const AttentionLayout &layout, float scale,
                 bool windowed)
      : kb(kb), layout(layout), scale(scale), windowed(windowed) {}

  /// Sets up what all blocks share.
  void begin();
  /// Takes the query at `q` into `state`, whose sums stay as they are.
  void open(Value state, Value q);
  /// Brings the keys of positions [from, to) of the block into scratch; the
  /// pointers of all positions must be readable keys.
  void prepareKeys(Value from, Value to);
  /// Settles where `rows` rows read the values of the block. The value of a
  /// position lies `offset` bytes behind its key.
  void prepareValues(Value offset, Value rows);

  /// The three steps that take positions [begin, end) of the block, which must
  /// not be empty, into a state: the scores of its queries; their weights, with
  /// the running maxima and sums; the sum of the values by weight.
  void score(Value state, Value q, Value begin, Value end);
  void weigh(Value state);
  void addValues(Value state, Value begin, Value end);

  // Sums are where the layout says that maxima, totals and values are, in a
  // state or beside one.

  /// Makes them the sums of no positions.
  void empty(Value sums);
  /// Adds the sums at `more`. They are of at least one position, and of
  /// positions behind those of `sums`. The `first` sums are copied, bit by bit.
  void add(Value sums, Value more, Value first);
  void copy(Value sums, Value to);
  /// Stores the result, which is zero if nothing was added.
  void close(Value sums, Value y);

private:
  void join(Value sums, Value more);
  void transposeKeys(Value vector, Value unit, int64_t count, bool half);
  void multiplyKeys(Values &sums, Value query, Value unit, int64_t offset,
                    bool evenOnly);
  Values scores(Value query);
  void maskScores(Values &scores, Value begin, Value end);
  Values loadValues(ValueRange rows, int64_t columns);
  void accumulate(Value state, Value begin, Value end, ValueRange alphas,
                  Value first, int64_t chunks, int64_t columns);
  Values valueRows(Value step, Value begin, Value end, Value first);
  void multiplyValues(Values &sums, Value state, Value step, ValueRange rows,
                      int64_t chunks, int64_t columns);
  void storeColumns(Value y, ValueRange vectors, int64_t columns);
  Value ofHead(Value segments, int64_t head);

  /// The vector of bf16 values that the 32-bit elements of `pairs` hold.
  Value asBF16(Value pairs) {
    return kb.bitcast(pairs, kb.vectorType(kb.bf16Type(), 2 * lanes()));
  }
  /// The f32 values of the lower and of the upper halves of 32-bit elements.
  Value widenLower(Value pairs) {
    Value shift = kb.constant(kb.i32Vector(), 16);
    return kb.bitcast(kb.shiftLeft(pairs, shift), kb.f32Vector());
  }
  Value widenUpper(Value pairs) {
    Value mask = kb.constant(kb.i32Vector(), -65536);
    return kb.bitcast(kb.bitAnd(pairs, mask), kb.f32Vector());
  }
  int64_t lanes() const { return layout.lanes; }
  int64_t tile() const { return layout.tile; }
  int64_t vectors() const { return layout.vectorsPerBlock; }
  /// Sums into which the products of a score are divided, so that enough sums
  /// are under way to hide the latency of one.
  int64_t chains() const {
    int64_t enough = layout.dot ? 16 : 8;
    int64_t count = enough / (layout.scoreHeads * vectors());
    return llvm::bit_floor(uint64_t(std::clamp<int64_t>(count, 1, 4)));
  }
  /// Accumulators that fit in registers beside their operands.
  int64_t maxSums() const { return lanes(); }
  Value scratchAt(int64_t offset) { return kb.at(kb.scratch(), offset); }

  CpuBuilder &kb;
  const AttentionLayout &layout;
  const float scale;
  const bool windowed;
  Value valueOffset;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ATTENTIONBLOCK_H
