//===- AttentionView.cpp - Positions that an attention row sees -----------===//
//
// Buffers of attention: q, slots, positions, page table, base of the layer's
// pages, a tree's masks, results. Params: M, maxPages.
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
  // Limit of positions: the room in the slot's pages and, if splits are left
  // unjoined, in the splits.
  Value count = kb.mul(kb.param(1), shape.cache.page);
  if (shape.leavesSplits)
    count = kb.min(count, kb.integer(shape.splits * shape.split));
  Value place = kb.loadI32(kb.buffer(2), row), zero = kb.integer(0);
  begin = zero;
  if (tree) {
    root = place;
    viewTree(row, count);
  } else {
    end = kb.max(kb.min(kb.add(place, 1), count), zero);
  }
  if (shape.window)
    begin = kb.max(kb.sub(end, shape.window), zero);
}

/// Reads a tree row's view. A row whose path does not end within the slot's
/// pages is a padding row.
void AttentionView::viewTree(Value row, Value count) {
  Value zero = kb.integer(0);
  mask = kb.loadOne(kb.i64Type(), kb.at(kb.buffer(5), row, 8));
  // The number of places in the path, and the end of the path.
  Values path = kb.whileLoop(
      Values{mask, zero, zero},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        return Values{kb.bitAnd(state[0], kb.sub(state[0], 1)),
                      kb.add(state[1], 1),
                      kb.add(kb.countTrailingZeros(state[0]), 1)};
      });
  Value fits = kb.bitAnd(kb.cmp(Cmp::LE, kb.add(root, path[2]), count),
                         kb.cmp(Cmp::GE, root, zero));
  end = kb.select(fits, kb.add(root, path[1]), zero);
}

/// Returns the place of the entry of a position that is not before the window.
Value AttentionView::placeOf(Value position, Value seen) const {
  Value rest = kb.forRange(kb.integer(0), kb.sub(position, root), 1,
                           Values{seen}, [&](Value, ValueRange in) {
                             return Values{kb.bitAnd(in[0], kb.sub(in[0], 1))};
                           })[0];
  return kb.add(root, kb.countTrailingZeros(rest));
}

Value AttentionView::entryAt(Value position, Value seen) const {
  if (seen)
    position = kb.choose(
        kb.cmp(Cmp::LT, position, root), [&] { return Values{position}; },
        [&] { return Values{placeOf(position, seen)}; })[0];
  Value page =
      kb.loadI32(pages, kb.div(position, kb.integer(shape.cache.page)));
  Value place = kb.rem(position, kb.integer(shape.cache.page));
  return kb.add(kb.mul(page, shape.pageBytes()),
                kb.mul(place, shape.positionBytes()));
}
