//===- AttentionRuns.h - Runs of rows over the paged cache ------*- C++ -*-===//
//
// The rows of a task are taken in runs of one slot, as a verify window or a
// chunk of a prompt is, and a run goes over the blocks of its slot's positions
// together. Blocks are absolute positions of the cache, so that a row's result
// does not depend on how it got there (chunked prefill, decoding,
// verification).
//
// A row of a tree sees a prefix and its ancestors, whose entries lie scattered
// behind it. They take the places in the blocks that they would have if their
// path were the only one, so that a path's results are the bits of a chain.
// Positions that no row of a run sees are not read.
//
// Where positions come in parts, each part is added up from nothing and then
// joined with those before it, in their order. A task may also leave its parts
// in a buffer, for `attention_join` to do the same with them.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_ATTENTIONRUNS_H
#define COMPILER_CODEGEN_CPU_ATTENTIONRUNS_H

#include "compiler/Codegen/CPU/AttentionBlock.h"

namespace mtp::codegen {

class AttentionRuns {
public:
  AttentionRuns(KernelBuilder &kb, const KernelConfig &config,
                const AttentionLayout &layout, bool tree)
      : kb(kb), config(config), layout(layout), tree(tree),
        window(config.integer("window")),
        block(kb, layout, config.real("scale"), window != 0) {}

  /// Sets up what all tasks share.
  void begin() { block.begin(); }
  /// Rows [first, end), which may be of several slots, and `tiles` tiles of
  /// heads from `head`, which share a key head. Where parts are left, those
  /// whose number leaves `split` when divided by the splits.
  void emit(Value first, Value end, Value head, Value tiles, Value split);

private:
  /// Rows [first, end) of one slot, and tiles of heads.
  struct Run {
    Value first, end, head, kvHead, tiles, split;
    /// All that the rows see lies in these positions.
    Value begin, stop;
    Value pages;
    /// Trees only: the place of node 0, and the set of the nodes seen.
    Value base, mask;
  };

  /// What any row of a run sees of a block lies in [begin, end). With a window
  /// there may be gaps, and `bits` is the set of the positions.
  struct Seen {
    Value begin, end, bits;
  };

  Value positionCount();
  Values viewOf(Value row, Value &base, Value &mask);
  Value emitRun(Run run, Value endRow);
  /// A row of a run and one tile of its heads.
  struct RowTile {
    Value row, state, q, y;
  };

  void forStates(const Run &run, llvm::function_ref<void(RowTile)> body);
  void emitBlocks(const Run &run, Value begin, Value end);
  void emitPart(const Run &run, Value part, Value only);
  void emitParts(const Run &run);
  Value sumsOf(RowTile of) { return kb.at(of.state, layout.stateSums()); }
  Value joinedOf(RowTile of) { return kb.at(of.state, layout.stateJoined()); }
  void emitBlock(const Run &run, Value start, Value end);
  void prepareBlock(const Run &run, Value start, const Seen &seen);
  void forKeys(const Run &run, Value first, Value last,
               llvm::function_ref<void(Value, Value)> body);
  void locateKeys(const Run &run, Value start, Value begin, Value end);
  /// Elements from the first head's key of an entry to its value.
  int64_t valuesBehindKeys() const {
    return (config.integer("v_offset") - config.integer("k_offset")) /
           layout.cache.heads;
  }
  Value valueOffset(const Run &run);
  /// Shares in which the next block is asked for.
  static constexpr int64_t asks = 4;
  void askForNext(const Run &run, Value start, Value end, int64_t share);
  void locatePath(const Run &run, Value start);
  Value bitsOf(Value begin, Value end);
  void coverGaps(const Seen &seen);
  Seen seenByAny(const Run &run, Value start);
  std::pair<Value, Value> seenIn(const Run &run, Value row, Value start);

  Value pointerAt(Value index) {
    return kb.at(kb.at(kb.scratch(), layout.pointers()), index, 8);
  }
  Value boundAt(int64_t bounds, const Run &run, Value row) {
    return kb.at(kb.at(kb.scratch(), bounds), kb.sub(row, run.first), 8);
  }
  Value keyOf(const Run &run, Value page, Value place);
  Value clamp(Value position) {
    return kb.max(kb.min(position, kb.integer(layout.block())), kb.integer(0));
  }

  KernelBuilder &kb;
  const KernelConfig &config;
  const AttentionLayout &layout;
  const bool tree;
  const int64_t window;
  AttentionBlock block;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ATTENTIONRUNS_H
