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
  if (tree)
    masks = kb.shared(most * 8);
  if (most > 1)
    findRun();
}

/// Finds the rows of the group. In a run of rows of one slot, a group begins at
/// the first row and at every `most`-th row after it. The bits of a row do not
/// depend on its group.
void AttentionGroup::findRun() {
  Value slot = kb.loadI32(kb.buffer(1), row), root;
  if (tree)
    root = kb.loadI32(kb.buffer(2), row);
  auto isOther = [&](Value other) {
    Value differs = kb.cmp(Cmp::NE, kb.loadI32(kb.buffer(1), other), slot);
    if (!tree)
      return differs;
    return kb.bitOr(differs,
                    kb.cmp(Cmp::NE, kb.loadI32(kb.buffer(2), other), root));
  };
  // A warp looks at kWarp rows at a time. It finds the last row before `row`
  // that belongs to another slot, or -1 if there is none.
  Value none = kb.constant(kb.i32Type(), -2);
  auto lastOther = [&](Value before) {
    Value other = kb.sub(kb.sub(before, 1), kb.laneOfWarp());
    Value known = kb.max(other, kb.integer(0));
    Value differs = kb.bitOr(kb.cmp(Cmp::LT, other, 0), isOther(known));
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
            kb.cmp(Cmp::LT, next, limit),
            [&] {
              return Values{kb.cmp(Cmp::EQ, isOther(next), kb.boolean(false))};
            },
            [&] { return Values{kb.boolean(false)}; })[0];
      },
      [&](ValueRange state) { return Values{kb.add(state[0], 1)}; })[0];
}

void AttentionGroup::open() {
  view.emplace(kb, shape, row, tree);
  begin = view->begin, end = view->end;
  if (most > 1)
    findSeen();
  if (!tree)
    return;
  if (most == 1) {
    kb.storeOwn(view->mask, masks, kb.cmp(Cmp::EQ, kb.thread(), 0));
    kb.sync();
  }
  // Finds an entry that some row sees: the last entry of the last row that sees
  // any.
  Value none = kb.integer(-1);
  Value live = kb.forRange(
      kb.integer(0), rows, 1, Values{none}, [&](Value number, ValueRange in) {
        auto [from, to] = seenBy(number);
        return Values{kb.select(kb.cmp(Cmp::LT, from, to), number, in[0])};
      })[0];
  fallback = kb.choose(
      kb.cmp(Cmp::GE, live, 0),
      [&] {
        Value last = kb.sub(seenBy(live).second, 1);
        return Values{view->entryAt(last, maskOf(live))};
      },
      [&] { return Values{kb.integer(0)}; })[0];
}

/// Finds the range of positions that each row sees, and the range that contains
/// them all.
void AttentionGroup::findSeen() {
  kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), rows), [&] {
    AttentionView own(kb, shape, kb.add(row, kb.thread()), tree);
    Value to = kb.at(bounds, kb.thread(), 16);
    kb.storeOwn(own.begin, to);
    kb.storeOwn(own.end, kb.at(to, 8));
    if (tree)
      kb.storeOwn(own.mask, kb.at(masks, kb.thread(), 8));
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

Value AttentionGroup::maskOf(Value number) const {
  return kb.loadOwn(kb.i64Type(), kb.at(masks, number, 8));
}

std::pair<Value, Value> AttentionGroup::rowsOf(Value only) const {
  Value zero = kb.integer(0);
  if (!only)
    return {zero, rows};
  Value isOne = kb.cmp(Cmp::GE, only, 0);
  return {kb.select(isOne, only, zero),
          kb.select(isOne, kb.add(only, 1), rows)};
}

Value AttentionGroup::entryAt(Value position, Value only) const {
  Value seen;
  if (most == 1) {
    seen = kb.bitAnd(kb.cmp(Cmp::GE, position, begin),
                     kb.cmp(Cmp::LT, position, end));
  } else {
    auto [first, last] = rowsOf(only);
    seen = kb.forRange(first, last, 1, Values{kb.boolean(false)},
                       [&](Value number, ValueRange in) {
                         auto [from, to] = seenBy(number);
                         Value here = kb.bitAnd(kb.cmp(Cmp::GE, position, from),
                                                kb.cmp(Cmp::LT, position, to));
                         return Values{kb.bitOr(in[0], here)};
                       })[0];
  }
  if (!tree)
    return view->entryAt(kb.select(seen, position, begin));
  return kb.choose(
      seen,
      [&] {
        Value mask = maskOf(kb.max(only, kb.integer(0)));
        return Values{view->entryAt(position, mask)};
      },
      [&] { return Values{fallback}; })[0];
}
