//===- AttentionBlock.h - One block of positions of attention ---*- C++ -*-===//
//
// Attention walks blocks of positions. Work that depends on the block alone is
// done once for all rows and heads of a task. Then the block is added to every
// state. A state belongs to one row and one tile of heads. It depends only on
// the row's query and on the positions that the row sees, so other rows change
// none of its bits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONBLOCK_H
#define MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONBLOCK_H

#include "compiler/Codegen/CPU/attention/AttentionLayout.h"
#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

namespace mtp::codegen {

class AttentionBlock {
public:
  AttentionBlock(CpuBuilder &kb, const AttentionLayout &layout, float scale,
                 bool windowed)
      : kb(kb), layout(layout), scale(scale), windowed(windowed) {}

  /// Sets up the scratch that all blocks share.
  void begin();
  /// Stores the query at `q` in `state`, and leaves the state's sums unchanged.
  void open(Value state, Value q);
  /// Brings the keys of positions [from, to) of the block into scratch. The
  /// pointers of all positions must point to readable keys.
  void prepareKeys(Value from, Value to);
  /// Prepares the reading of the block's values by `rows` rows, and the scales
  /// of integers. A position's value lies `offset` bytes after its key.
  void prepareValues(Value offset, Value rows);

  /// Three steps add positions [begin, end) of the block, which must not be
  /// empty, to a state. `score` computes the scores of its queries. `weigh`
  /// turns scores into weights and updates the running maxima and sums.
  /// `addValues` adds the weighted values.
  void score(Value state, Value q, Value begin, Value end);
  void weigh(Value state);
  void addValues(Value state, Value begin, Value end);

  // `sums` points to maxima, totals and values in the layout's order, inside a
  // state or outside.

  /// Sets `sums` to the sums of no positions.
  void empty(Value sums);
  /// Adds the sums at `more`. They cover at least one position, and only
  /// positions after the positions of `sums`. If `first` is true, `sums` covers
  /// no position and `more` is copied bit by bit.
  void add(Value sums, Value more, Value first);
  void copy(Value sums, Value to);
  /// Stores the result; zeros if no position was added.
  void close(Value sums, Value y);

private:
  void join(Value sums, Value more);
  Value loadIntegers(Value from, int64_t count);
  void widenRow(Value from, Value to);
  void prepareScales();
  Value scaled(Value products, int64_t scales, int64_t vector);
  Values products(Value query, int64_t first, int64_t end);
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

  /// Returns the vector of bf16 values that the 32-bit elements of `pairs`
  /// hold.
  Value asBF16(Value pairs) {
    return kb.bitcast(pairs, kb.vectorType(kb.bf16Type(), 2 * lanes()));
  }
  /// Returns the lower (or upper) halves of 32-bit elements as f32.
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
  /// Returns the number of sums among which the products of a score are
  /// divided. Independent sums hide the latency of a product.
  int64_t chains() const {
    int64_t enough = layout.dot ? 16 : 8;
    int64_t count = enough / (layout.scoreHeads * vectors());
    return llvm::bit_floor(uint64_t(std::clamp<int64_t>(count, 1, 4)));
  }
  /// Returns the number of accumulators that fit in registers beside their
  /// operands.
  int64_t maxSums() const { return lanes(); }
  Value scratchAt(int64_t offset) { return kb.at(kb.scratch(), offset); }

  CpuBuilder &kb;
  const AttentionLayout &layout;
  const float scale;
  const bool windowed;
  Value valueOffset;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONBLOCK_H
