//===- AttentionRuns.h - Runs of rows over the paged cache ------*- C++ -*-===//
//
// A run is a sequence of consecutive rows of a task that belong to one slot,
// such as the rows of a verify step or of a prompt's chunk. The rows of a run
// walk the blocks of the slot's positions together. A block is a fixed range of
// positions of the cache. A row's result therefore does not depend on whether
// the row was computed by chunked prefill, decoding or verification.
//
// A row of a tree sees all positions before its window and some rows of the
// window. The entries of these rows lie scattered. In the blocks they take the
// positions that they would have if the path were a chain, so that a path has
// the bits of a chain. The rows of a run have one window. They walk the blocks
// before the block in which the window begins together, and each row walks the
// later blocks by itself. Positions that no row of a run sees are not read.
//
// If the context is split, the sums of each split start from zero. They are
// then joined with the sums of the splits before it, in order. A task may also
// leave the sums of its splits in a buffer, and `attention_combine` joins them
// in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONRUNS_H
#define MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONRUNS_H

#include "compiler/Codegen/CPU/attention/AttentionBlock.h"

namespace mtp::codegen {

class AttentionRuns {
public:
  AttentionRuns(CpuBuilder &kb, const AttentionParams &params,
                const AttentionLayout &layout)
      : kb(kb), params(params), layout(layout), tree(params.isTree),
        window(params.window), block(kb, layout, params.scale, window != 0) {}

  /// Sets up the scratch that all tasks share.
  void begin() { block.begin(); }
  /// Share of the context splits: each split whose number is `index` modulo
  /// `count`.
  struct SplitShare {
    Value index, count;
  };
  /// Emits rows [first, end), which may belong to several slots, and `tiles`
  /// tiles of heads from `head`, which share a key head. If splits are left for
  /// another kernel, emits only the splits of `splitShare`.
  void emit(Value first, Value end, Value head, Value tiles,
            SplitShare splitShare);

private:
  /// Rows [first, end) of one slot, and tiles of heads.
  struct Run {
    Value first, end, head, kvHead, tiles;
    SplitShare splitShare;
    /// Row whose bounds and states are the first in scratch.
    Value origin;
    /// Range of positions that contains all positions that the rows see.
    Value begin, stop;
    Value pages;
    /// Trees only: the position of the window's first row and, in a run of one
    /// row, the mask of the window's rows that the row sees.
    Value root, mask;
  };

  /// Positions of a block that some row of a run sees; all lie in [begin, end).
  /// With a window there may be gaps, and `bits` is the set of the positions.
  struct Seen {
    Value begin, end, bits;
  };

  Value positionCount();
  Value maskOf(Value row) {
    return kb.load(kb.i64Type(), kb.at(kb.buffer(5), row, 8));
  }
  Value endOfPath(Value row, Value root);
  std::pair<Value, Value> viewOf(Value row);
  void findRows(Run &run, Value endRow);
  Value emitRun(Run run, Value endRow);
  /// A row of a run and one tile of its heads.
  struct RowTile {
    Value row, state, q, y;
  };

  void forStates(const Run &run, llvm::function_ref<void(RowTile)> body);
  void forBlocks(const Run &run, Value begin, Value end);
  void emitBlocks(const Run &run, Value begin, Value end);
  void emitSplit(const Run &run, Value split, Value only);
  void emitSplits(const Run &run);
  Value sumsOf(RowTile of) { return kb.at(of.state, layout.stateSums()); }
  Value joinedOf(RowTile of) { return kb.at(of.state, layout.stateJoined()); }
  void emitBlock(const Run &run, Value start, Value end);
  void prepareBlock(const Run &run, Value start, const Seen &seen);
  void forKeys(const Run &run, Value first, Value last,
               llvm::function_ref<void(Value, Value)> body);
  void locateKeys(const Run &run, Value start, Value begin, Value end);
  /// Returns the elements from the first head's key of an entry to its value.
  int64_t valuesBehindKeys() const { return layout.valuesAt - layout.keysAt; }
  Value valueOffset(const Run &run);
  void prefetchNext(const Run &run, Value start, Value end, int64_t share);
  void locatePath(const Run &run, Value start);
  Value bitsOf(Value begin, Value end);
  void coverGaps(const Seen &seen);
  Seen seenByAny(const Run &run, Value start);
  std::pair<Value, Value> seenIn(const Run &run, Value row, Value start);

  Value pointerAt(Value index) {
    return kb.at(kb.at(kb.scratch(), layout.pointers()), index, 8);
  }
  Value boundAt(int64_t bounds, const Run &run, Value row) {
    return kb.at(kb.at(kb.scratch(), bounds), kb.sub(row, run.origin), 8);
  }
  Value loadBound(int64_t bounds, const Run &run, Value row) {
    return kb.load(kb.i64Type(), boundAt(bounds, run, row));
  }
  Value keyOf(const Run &run, Value page, Value place);
  Value clamp(Value position) {
    return kb.max(kb.min(position, kb.integer(layout.block())), kb.integer(0));
  }

  CpuBuilder &kb;
  const AttentionParams params;
  const AttentionLayout &layout;
  const bool tree;
  const int64_t window;
  AttentionBlock block;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_ATTENTION_ATTENTIONRUNS_H
