//===- AttentionView.cpp - What a row of attention sees -------------------===//
//
// Buffers of attention: q, slots, positions, page table, base of the layer's
// pages, a tree's masks, results. Params: M, maxPages, a tree's nodes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/attention/AttentionView.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

AttentionView::AttentionView(GpuBuilder &kb, const AttentionShape &shape,
                             Value row, bool tree)
    : kb(kb), shape(shape) {
  Value slot = kb.clampIndex(kb.loadI32(kb.buffer(1), row), shape.slots);
  pages = kb.at(kb.buffer(3), kb.mul(slot, kb.param(1)), 4);
  // As many as there is room for in the slot's pages and, where parts are left,
  // in those.
  Value count = kb.mul(kb.param(1), shape.cache.page);
  if (shape.leavesParts)
    count = kb.min(count, kb.integer(shape.parts * shape.part));
  Value place = kb.loadI32(kb.buffer(2), row), zero = kb.integer(0);
  begin = zero;
  if (tree) {
    viewTree(row, place, count);
    return;
  }
  end = kb.max(kb.min(kb.add(place, 1), count), zero);
  if (shape.window)
    begin = kb.max(kb.sub(end, shape.window), zero);
}

/// A tree that does not end within the slot's pages is dead.
void AttentionView::viewTree(Value row, Value place, Value count) {
  Value nodes = kb.param(2), zero = kb.integer(0);
  Value fits = kb.bitAnd(kb.cmp(Cmp::LE, kb.add(place, nodes), count),
                         kb.cmp(Cmp::GE, place, zero));
  base = place;
  Value all = kb.shiftRight(kb.integer(-1), kb.sub(kb.integer(64), nodes));
  // A block may have rows of some of the nodes.
  Value number =
      kb.rem(row, shape.treeBlock ? kb.integer(shape.treeBlock) : nodes);
  mask =
      kb.bitAnd(all, kb.loadOne(kb.i64Type(), kb.at(kb.buffer(5), number, 8)));
  Value path = kb.whileLoop(
      Values{mask, zero},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        return Values{kb.bitAnd(state[0], kb.sub(state[0], 1)),
                      kb.add(state[1], 1)};
      })[1];
  end = kb.select(fits, kb.add(place, path), zero);
}

/// Where the node lies that is `place` places behind the begin of the tree in
/// the row's path.
Value AttentionView::nodeAt(Value place) const {
  Value rest = kb.forRange(kb.integer(0), place, 1, Values{mask},
                           [&](Value, ValueRange in) {
                             return Values{kb.bitAnd(in[0], kb.sub(in[0], 1))};
                           })[0];
  return kb.add(base, kb.countTrailingZeros(rest));
}

Value AttentionView::entryAt(Value position) const {
  if (mask)
    position = kb.choose(
        kb.cmp(Cmp::LT, position, base), [&] { return Values{position}; },
        [&] { return Values{nodeAt(kb.sub(position, base))}; })[0];
  Value page =
      kb.loadI32(pages, kb.div(position, kb.integer(shape.cache.page)));
  Value place = kb.rem(position, kb.integer(shape.cache.page));
  return kb.add(kb.mul(page, shape.pageBytes()),
                kb.mul(place, shape.positionBytes()));
}
