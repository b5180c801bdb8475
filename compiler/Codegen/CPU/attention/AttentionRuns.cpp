//===- AttentionRuns.cpp - Runs of rows over the paged cache --------------===//

#include "compiler/Codegen/CPU/attention/AttentionRuns.h"

#include "runtime/schema/Tunables.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Addresses of keys
//===----------------------------------------------------------------------===//

/// Returns the address of the key at `place` of the slot's page number `page`.
Value AttentionRuns::keyOf(const Run &run, Value page, Value place) {
  Value pages = kb.at(kb.buffer(4), layout.keysAt * layout.storedBytes);
  Value first = kb.at(pages, kb.loadI32(run.pages, page), layout.pageBytes());
  return kb.at(kb.at(first, place, layout.positionBytes()), run.kvHead,
               layout.headBytes());
}

/// Calls `body` with each of the positions [first, last) and the address of its
/// key.
void AttentionRuns::forKeys(const Run &run, Value first, Value last,
                            llvm::function_ref<void(Value, Value)> body) {
  Value pageEnd =
      kb.div(kb.add(last, layout.cache.page - 1), layout.cache.page);
  kb.forRange(kb.div(first, layout.cache.page), pageEnd, 1, [&](Value page) {
    Value from = kb.mul(page, layout.cache.page);
    Value to = kb.add(from, layout.cache.page);
    Value keys = keyOf(run, page, kb.integer(0));
    kb.forRange(kb.max(from, first), kb.min(to, last), 1, [&](Value position) {
      body(position,
           kb.at(keys, kb.sub(position, from), layout.positionBytes()));
    });
  });
}

/// Stores the pointers of positions [begin, end) of the block at `start`.
void AttentionRuns::locateKeys(const Run &run, Value start, Value begin,
                               Value end) {
  forKeys(run, kb.add(start, begin), kb.add(start, end),
          [&](Value position, Value key) {
            kb.store(key, pointerAt(kb.sub(position, start)));
          });
}

/// Returns the bytes from the key of a position to its value.
Value AttentionRuns::valueOffset(const Run &run) {
  int64_t bytes = layout.storedBytes;
  Value behind = kb.integer(valuesBehindKeys() * bytes);
  if (layout.cache.heads > 1)
    return behind;
  return kb.add(kb.mul(run.kvHead, (layout.dv - layout.dk) * bytes), behind);
}

/// Prefetches one share of the keys and values of the next block after the one
/// at `start`, up to position `end`. Hardware cannot predict these addresses:
/// pages lie anywhere and, in whole entries, the keys of one head are short
/// pieces far apart.
void AttentionRuns::prefetchNext(const Run &run, Value start, Value end,
                                 int64_t share) {
  int64_t apart = valuesBehindKeys();
  bool within =
      params.kvHeads == 1 && apart >= 0 && apart + layout.dv <= layout.dk;
  Value offset = valueOffset(run);
  int64_t positions = layout.block() / tunable::kPrefetchShares.value;
  Value next = kb.add(start, layout.block() + share * positions);
  // The rows of a window lie elsewhere and are few.
  Value stop =
      kb.min(tree ? kb.min(end, run.root) : end, kb.add(next, positions));
  forKeys(run, next, stop, [&](Value, Value key) {
    // Keys, values and scales of integers are one piece.
    if (layout.integers)
      return kb.prefetch(kb.at(key, -layout.keysAt), layout.cache.share());
    kb.prefetch(key, layout.dk * layout.bytes);
    if (!within)
      kb.prefetch(kb.at(key, offset, 1), layout.dv * layout.bytes);
  });
}

/// Stores the pointers of the window's rows that the run's row sees, one by
/// one, if they fall in the block.
void AttentionRuns::locatePath(const Run &run, Value start) {
  kb.whileLoop(
      Values{run.mask, kb.sub(run.root, start)},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        Value rest = state[0], to = state[1];
        Value inBlock = kb.bitAnd(kb.cmp(Cmp::GE, to, 0),
                                  kb.cmp(Cmp::LT, to, layout.block()));
        kb.ifThen(inBlock, [&] {
          Value place = kb.add(run.root, kb.countTrailingZeros(rest));
          kb.store(keyOf(run, kb.div(place, layout.cache.page),
                         kb.rem(place, kb.integer(layout.cache.page))),
                   pointerAt(to));
        });
        return Values{kb.bitAnd(rest, kb.sub(rest, 1)), kb.add(to, 1)};
      });
}

/// Returns the range of the block at `start` that a row sees. The range is
/// empty unless the second number is larger than the first.
std::pair<Value, Value> AttentionRuns::seenIn(const Run &run, Value row,
                                              Value start) {
  auto bound = [&](int64_t bounds) {
    return clamp(kb.sub(loadBound(bounds, run, row), start));
  };
  return {window ? bound(layout.begins()) : kb.integer(0),
          bound(layout.ends())};
}

/// Returns the bit set of positions [begin, end) of a block.
Value AttentionRuns::bitsOf(Value begin, Value end) {
  assert(layout.block() < 64 && "expected a block in a bit set");
  Value one = kb.integer(1);
  return kb.sub(kb.shiftLeft(one, end), kb.shiftLeft(one, begin));
}

/// Gives each position of the block that no row sees the pointer of a position
/// that a row sees, so that all pointers can be read. Such positions lie
/// outside [begin, end) and, with a window, in gaps between the ranges of two
/// rows.
void AttentionRuns::coverGaps(const Seen &seen) {
  Type pointer = kb.scratch().getType();
  Value known = kb.load(pointer, pointerAt(seen.begin));
  auto cover = [&](Value index) { kb.store(known, pointerAt(index)); };
  kb.forRange(kb.integer(0), seen.begin, 1, cover);
  kb.forRange(seen.end, kb.integer(layout.block()), 1, cover);
  if (!window)
    return;
  kb.forRange(seen.begin, seen.end, 1, [&](Value index) {
    Value bit = kb.bitAnd(kb.shiftRight(seen.bits, index), kb.integer(1));
    kb.ifThen(kb.cmp(Cmp::EQ, bit, 0), [&] { cover(index); });
  });
}

/// Returns the positions of the block at `start` that the rows of the run see.
AttentionRuns::Seen AttentionRuns::seenByAny(const Run &run, Value start) {
  if (!window)
    return {clamp(kb.sub(run.begin, start)), clamp(kb.sub(run.stop, start)),
            Value()};
  // Rows of one slot may be far apart.
  Values seen = kb.forRange(
      run.first, run.end, 1,
      Values{kb.integer(layout.block()), kb.integer(0), kb.integer(0)},
      [&](Value row, ValueRange in) {
        auto [from, to] = seenIn(run, row, start);
        Value live = kb.cmp(Cmp::LT, from, to);
        Value bits = kb.bitOr(in[2], bitsOf(from, to));
        return Values{kb.select(live, kb.min(in[0], from), in[0]),
                      kb.select(live, kb.max(in[1], to), in[1]),
                      kb.select(live, bits, in[2])};
      });
  return {seen[0], seen[1], seen[2]};
}

//===----------------------------------------------------------------------===//
// Runs of rows
//===----------------------------------------------------------------------===//

/// Calls `body` for every row of the run and every tile of its heads. If splits
/// are left for another kernel, `y` is the address of the tile's first split.
void AttentionRuns::forStates(const Run &run,
                              llvm::function_ref<void(RowTile)> body) {
  int64_t qStride = params.qStride;
  int64_t yStride = params.yStride;
  int64_t tileStride = layout.tile * layout.dv;
  if (layout.leavesSplits) {
    yStride = layout.splits * layout.splitStride;
    tileStride = layout.sumsFloats(layout.tile, layout.dv);
  }
  int64_t bytes = layout.stateBytes();
  kb.forRange(run.first, run.end, 1, [&](Value row) {
    Value states = kb.at(kb.at(kb.scratch(), layout.states()),
                         kb.sub(row, run.origin), layout.tilesAtOnce * bytes);
    kb.forRange(kb.integer(0), run.tiles, 1, [&](Value tile) {
      Value head = kb.add(run.head, kb.mul(tile, layout.tile));
      Value q = kb.at(kb.buffer(0), row, qStride * 4);
      Value y = kb.at(kb.buffer(tree ? 6 : 5), row, yStride * 4);
      body({row, kb.at(states, tile, bytes), kb.at(q, head, layout.dk * 4),
            kb.at(y, kb.div(head, layout.tile), tileStride * 4)});
    });
  });
}

/// Brings the data of the block at `start` that all rows and heads share into
/// scratch.
void AttentionRuns::prepareBlock(const Run &run, Value start,
                                 const Seen &seen) {
  Value chainEnd = seen.end;
  if (run.mask)
    chainEnd = kb.min(chainEnd, kb.max(kb.sub(run.root, start), kb.integer(0)));
  locateKeys(run, start, seen.begin, chainEnd);
  if (run.mask)
    kb.ifThen(kb.cmp(Cmp::LT, chainEnd, seen.end),
              [&] { locatePath(run, start); });
  Value partial = kb.cmp(Cmp::LT, kb.sub(seen.end, seen.begin), layout.block());
  if (window) {
    Value whole = bitsOf(kb.integer(0), kb.integer(layout.block()));
    partial = kb.cmp(Cmp::NE, seen.bits, whole);
  }
  kb.ifThen(partial, [&] { coverGaps(seen); });
  block.prepareKeys(seen.begin, seen.end);
  block.prepareValues(valueOffset(run), kb.sub(run.end, run.first));
}

/// Emits the block at `start`. `end` is the end of all blocks.
void AttentionRuns::emitBlock(const Run &run, Value start, Value end) {
  Seen seen = seenByAny(run, start);
  kb.ifThen(kb.cmp(Cmp::LT, seen.begin, seen.end), [&] {
    // One share between two steps: a core has few memory requests under way at
    // a time, and further ones wait.
    prefetchNext(run, start, end, 0);
    prepareBlock(run, start, seen);
    prefetchNext(run, start, end, 1);
    auto forSeeing = [&](llvm::function_ref<void(RowTile, Value, Value)> body) {
      forStates(run, [&](RowTile of) {
        auto [from, to] = seenIn(run, of.row, start);
        kb.ifThen(kb.cmp(Cmp::LT, from, to),
                  [&, from = from, to = to] { body(of, from, to); });
      });
    };
    // All rows take one step before any takes the next, so that steps overlap.
    forSeeing([&](RowTile of, Value from, Value to) {
      block.score(of.state, of.q, from, to);
    });
    prefetchNext(run, start, end, 2);
    forSeeing([&](RowTile of, Value, Value) { block.weigh(of.state); });
    prefetchNext(run, start, end, 3);
    forSeeing([&](RowTile of, Value from, Value to) {
      block.addValues(of.state, from, to);
    });
  });
}

/// Emits the blocks of positions [begin, end) for all rows that see them.
void AttentionRuns::forBlocks(const Run &run, Value begin, Value end) {
  int64_t size = layout.block();
  kb.forRange(kb.div(begin, size), kb.div(kb.add(end, size - 1), size), 1,
              [&](Value index) { emitBlock(run, kb.mul(index, size), end); });
}

/// Emits the blocks of positions [begin, end). In a tree, each row walks the
/// blocks from the window on by itself.
void AttentionRuns::emitBlocks(const Run &run, Value begin, Value end) {
  if (!tree)
    return forBlocks(run, begin, end);
  int64_t size = layout.block();
  Value window = kb.mul(kb.div(run.root, size), size);
  forBlocks(run, begin, kb.min(end, window));
  kb.forRange(run.first, run.end, 1, [&](Value row) {
    Run own = run;
    own.first = row, own.end = kb.add(row, 1);
    own.begin = loadBound(layout.begins(), run, row);
    own.stop = loadBound(layout.ends(), run, row);
    own.mask = maskOf(row);
    forBlocks(own, kb.max(kb.max(begin, window), own.begin),
              kb.min(end, own.stop));
  });
}

/// Adds up split number `split` for every row that sees any of it. Then joins
/// its sums with the sums of the row's earlier splits, or stores them for
/// another kernel. If `only` is true, the run has no other split and the sums
/// stay in place.
void AttentionRuns::emitSplit(const Run &run, Value split, Value only) {
  Value begin = kb.mul(split, layout.split), end = kb.add(begin, layout.split);
  emitBlocks(run, kb.max(run.begin, begin), kb.min(run.stop, end));
  forStates(run, [&](RowTile of) {
    Value rowBegin = loadBound(layout.begins(), run, of.row);
    Value from = kb.max(rowBegin, begin);
    Value to = kb.min(loadBound(layout.ends(), run, of.row), end);
    Value more = kb.cmp(Cmp::LT, from, to);
    if (only)
      more = kb.bitAnd(more, kb.cmp(Cmp::EQ, only, kb.boolean(false)));
    kb.ifThen(more, [&] {
      if (layout.leavesSplits)
        block.copy(sumsOf(of), kb.at(of.y, split, layout.splitStride * 4));
      else
        block.add(joinedOf(of), sumsOf(of), kb.cmp(Cmp::LE, begin, rowBegin));
      block.empty(sumsOf(of));
    });
  });
}

/// Emits all splits of a run.
void AttentionRuns::emitSplits(const Run &run) {
  Value first = kb.div(run.begin, layout.split);
  Value end = kb.div(kb.add(run.stop, layout.split - 1), layout.split);
  if (!layout.leavesSplits) {
    Value only = kb.cmp(Cmp::EQ, kb.sub(end, first), 1);
    kb.forRange(first, end, 1,
                [&](Value split) { emitSplit(run, split, only); });
    forStates(run, [&](RowTile of) {
      block.close(kb.select(only, sumsOf(of), joinedOf(of)), of.y);
    });
    return;
  }
  Value tasksPerTile = run.splitShare.count;
  Value behind = kb.sub(run.splitShare.index, kb.rem(first, tasksPerTile));
  Value ahead = kb.rem(kb.add(behind, tasksPerTile), tasksPerTile);
  kb.whileLoop(
      Values{kb.add(first, ahead)},
      [&](ValueRange state) { return kb.cmp(Cmp::LT, state[0], end); },
      [&](ValueRange state) {
        emitSplit(run, state[0], Value());
        return Values{kb.add(state[0], tasksPerTile)};
      });
}

/// Returns the number of positions that the pages of a slot have room for. If
/// splits are left for another kernel, also limits it to the room of the
/// splits.
Value AttentionRuns::positionCount() {
  Value count = kb.mul(kb.param(1), layout.cache.page);
  if (!layout.leavesSplits)
    return count;
  return kb.min(count, kb.integer(layout.splits * layout.split));
}

/// Returns the end of the positions that a row of a tree sees, counted as in a
/// chain. Returns 0, as for a padding row, if the path does not end within the
/// slot's pages.
Value AttentionRuns::endOfPath(Value row, Value root) {
  Value zero = kb.integer(0);
  Values path = kb.whileLoop(
      Values{maskOf(row), zero, zero},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        return Values{kb.bitAnd(state[0], kb.sub(state[0], 1)),
                      kb.add(state[1], 1),
                      kb.add(kb.countTrailingZeros(state[0]), 1)};
      });
  Value last = kb.add(root, path[2]);
  Value fits = kb.bitAnd(kb.cmp(Cmp::GE, root, 0),
                         kb.cmp(Cmp::LE, last, positionCount()));
  return kb.select(fits, kb.add(root, path[1]), zero);
}

/// Returns the positions [begin, end) that a row sees. For a tree they are the
/// positions that the row would see in a chain.
std::pair<Value, Value> AttentionRuns::viewOf(Value row) {
  Value place = kb.loadI32(kb.buffer(2), row), zero = kb.integer(0);
  Value end =
      tree ? endOfPath(row, place) : kb.min(kb.add(place, 1), positionCount());
  return {window ? kb.max(kb.sub(end, window), zero) : zero, end};
}

/// Finds the consecutive rows from `run.first` that belong to one slot, and the
/// positions that they see. In a tree the active rows must have one window.
void AttentionRuns::findRows(Run &run, Value endRow) {
  Value slot = kb.loadI32(kb.buffer(1), run.first);
  Value known = kb.clampIndex(slot, params.slots);
  run.pages = kb.at(kb.buffer(3), kb.mul(known, kb.param(1)), 4);
  Values inits{run.first, kb.integer(std::numeric_limits<int32_t>::max()),
               kb.integer(0), kb.boolean(true)};
  Value none = kb.integer(-1);
  if (tree)
    inits.push_back(none);
  Values found =
      kb.forRange(run.first, endRow, 1, inits, [&](Value row, ValueRange in) {
        Value same = kb.bitAnd(
            in[3], kb.cmp(Cmp::EQ, kb.loadI32(kb.buffer(1), row), slot));
        auto [begin, end] = viewOf(row);
        kb.store(begin, boundAt(layout.begins(), run, row));
        kb.store(end, boundAt(layout.ends(), run, row));
        Value live = kb.cmp(Cmp::LT, begin, end);
        Values next;
        if (tree) {
          Value root = kb.loadI32(kb.buffer(2), row);
          Value fits = kb.bitOr(kb.cmp(Cmp::EQ, in[4], none),
                                kb.cmp(Cmp::EQ, in[4], root));
          same = kb.bitAnd(same, kb.select(live, fits, kb.boolean(true)));
          next.push_back(kb.select(kb.bitAnd(same, live), root, in[4]));
        }
        live = kb.bitAnd(same, live);
        next.insert(next.begin(),
                    {kb.select(same, kb.add(row, 1), in[0]),
                     kb.select(live, kb.min(in[1], begin), in[1]),
                     kb.select(live, kb.max(in[2], end), in[2]), same});
        return next;
      });
  run.end = found[0], run.begin = found[1], run.stop = found[2];
  if (tree)
    run.root = kb.max(found[4], kb.integer(0));
}

/// Emits the run that begins at row `run.first`. Returns the row after the run.
Value AttentionRuns::emitRun(Run run, Value endRow) {
  run.origin = run.first;
  findRows(run, endRow);
  forStates(run, [&](RowTile of) {
    block.open(of.state, of.q);
    block.empty(sumsOf(of));
    if (layout.joinsSplits())
      block.empty(joinedOf(of));
  });
  if (layout.split != 0) {
    emitSplits(run);
    return run.end;
  }
  emitBlocks(run, run.begin, run.stop);
  forStates(run, [&](RowTile of) { block.close(sumsOf(of), of.y); });
  return run.end;
}

void AttentionRuns::emit(Value first, Value end, Value head, Value tiles,
                         SplitShare splitShare) {
  Run run;
  run.head = head, run.tiles = tiles, run.splitShare = splitShare;
  run.kvHead = kb.div(head, params.qHeads / params.kvHeads);
  kb.whileLoop(
      Values{first},
      [&](ValueRange state) { return kb.cmp(Cmp::LT, state[0], end); },
      [&](ValueRange state) {
        run.first = state[0];
        return Values{emitRun(run, end)};
      });
}
