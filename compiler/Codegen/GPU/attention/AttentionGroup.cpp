//===- AttentionGroup.cpp - Rows of a slot in one block -------------------===//

#include "compiler/Codegen/GPU/attention/AttentionGroup.h"

#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

AttentionGroup::AttentionGroup(GpuBuilder &kb, const AttentionShape &shape,
                               Value row, int64_t most, bool tree)
    : kb(kb), shape(shape), row(row), most(most), tree(tree),
      leads(kb.boolean(true)), rows(kb.integer(1)) {
  bounds = kb.shared(most * 16);
  if (most > 1)
    findRun();
}

/// A run of rows of one slot has a group from its first row on and from every
/// so many rows behind it. A row's bits are the same in any group.
void AttentionGroup::findRun() {
  Value slot = kb.loadI32(kb.buffer(1), row);
  auto isSame = [&](Value other) {
    return kb.cmp(Cmp::EQ, kb.loadI32(kb.buffer(1), other), slot);
  };
  // A warp looks at as many rows at a time as it has threads: the last one
  // before `row` that is of another slot, or -1 where there is none.
  Value none = kb.constant(kb.i32Type(), -2);
  auto lastOther = [&](Value before) {
    Value other = kb.sub(kb.sub(before, 1), kb.laneOfWarp());
    Value known = kb.max(other, kb.integer(0));
    Value differs =
        kb.bitOr(kb.cmp(Cmp::LT, other, 0),
                 kb.cmp(Cmp::NE, kb.loadI32(kb.buffer(1), known), slot));
    other = kb.max(other, kb.integer(-1));
    return kb.warpMax(
        kb.select(differs, kb.truncate(other, kb.i32Type()), none));
  };
  Values found = kb.whileLoop(
      Values{row, lastOther(row)},
      [&](ValueRange state) { return kb.cmp(Cmp::EQ, state[1], none); },
      [&](ValueRange state) {
        Value before = kb.sub(state[0], kWarp);
        return Values{before, lastOther(before)};
      });
  Value first = kb.add(kb.extend(found[1], kb.i64Type()), 1);
  leads = kb.cmp(Cmp::EQ, kb.rem(kb.sub(row, first), kb.integer(most)), 0);
  Value limit = kb.min(kb.add(row, most), kb.param(0));
  rows = kb.whileLoop(
      Values{kb.integer(1)},
      [&](ValueRange state) {
        Value next = kb.add(row, state[0]);
        return kb.choose(
            kb.cmp(Cmp::LT, next, limit), [&] { return Values{isSame(next)}; },
            [&] { return Values{kb.boolean(false)}; })[0];
      },
      [&](ValueRange state) { return Values{kb.add(state[0], 1)}; })[0];
}

void AttentionGroup::open() {
  view.emplace(kb, shape, row, tree);
  begin = view->begin, end = view->end;
  if (most == 1)
    return;
  kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), rows), [&] {
    AttentionView own(kb, shape, kb.add(row, kb.thread()), tree);
    Value to = kb.at(bounds, kb.thread(), 16);
    kb.storeOwn(own.begin, to);
    kb.storeOwn(own.end, kb.at(to, 8));
  });
  kb.sync();
  Values all = kb.forRange(
      kb.integer(0), rows, 1,
      Values{kb.integer(std::numeric_limits<int32_t>::max()), kb.integer(0)},
      [&](Value number, ValueRange in) {
        auto [from, to] = seenBy(number);
        Value live = kb.cmp(Cmp::LT, from, to);
        return Values{kb.select(live, kb.min(in[0], from), in[0]),
                      kb.select(live, kb.max(in[1], to), in[1])};
      });
  begin = kb.min(all[0], all[1]), end = all[1];
}

std::pair<Value, Value> AttentionGroup::seenBy(Value number) const {
  if (most == 1)
    return {begin, end};
  Value from = kb.at(bounds, number, 16);
  return {kb.loadOwn(kb.i64Type(), from),
          kb.loadOwn(kb.i64Type(), kb.at(from, 8))};
}

Value AttentionGroup::entryAt(Value position) const {
  Value seen;
  if (most == 1) {
    seen = kb.bitAnd(kb.cmp(Cmp::GE, position, begin),
                     kb.cmp(Cmp::LT, position, end));
  } else {
    seen = kb.forRange(kb.integer(0), rows, 1, Values{kb.boolean(false)},
                       [&](Value number, ValueRange in) {
                         auto [from, to] = seenBy(number);
                         Value here = kb.bitAnd(kb.cmp(Cmp::GE, position, from),
                                                kb.cmp(Cmp::LT, position, to));
                         return Values{kb.bitOr(in[0], here)};
                       })[0];
  }
  return view->entryAt(kb.select(seen, position, begin));
}
