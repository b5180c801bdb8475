//===- Refresh.cpp - Rerun modules on verified rows -----------------------===//

#include "passes/round/Refresh.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

static void useWindow(ModuleOp module) {
  for (llvm::StringRef state :
       {states::kLength, states::kAccepted, states::kWindow})
    useState(module, state);
}

Refresh::Refresh(Expansion &e, ArrayRef<Region *> steps, int64_t count,
                 int64_t most, Region *input)
    : e(e), steps(steps), input(input),
      hasHidden(steps.front()->getNumArguments() == 3), most(most),
      rows(count) {
  useWindow(e.module);
}

Refresh::Refresh(Expansion &e, bool takesHidden)
    : e(e), hasHidden(takesHidden), most(*e.roundK()), rows(1) {
  useWindow(e.module);
}

/// Returns the tokens of a module's rows: the window's tokens up to the anchor,
/// then the drafts so far. Rows before position 0 and rows without a token are
/// padding rows.
Value Refresh::tokensOf(SlotBody &body, int64_t module, ArrayRef<Value> known) {
  Value accepted = body.load(states::kAccepted);
  Value first =
      body.sub(body.sub(body.load(states::kLength), accepted), behind(module));
  Value newest = body.add(accepted, module - 1);
  Value later = known.empty() ? Value() : body.vector(known);
  return body.vector(rowsOf(module), [&](Value j) {
    Value token = body.load(states::kWindow, j);
    if (later) {
      Value draft = body.element(later, body.sub(body.sub(j, accepted), 1));
      Value isKnown = body.compare(Predicate::sle, j, accepted);
      token = body.select(isKnown, token, draft);
    }
    Value live = body.both(body.compare(Predicate::sge, body.add(first, j), 0),
                           body.compare(Predicate::sle, j, newest));
    return body.select(live, token, body.constant(0));
  });
}

SmallVector<Value> Refresh::writePlaces(
    llvm::function_ref<SmallVector<Value>(SlotBody &, Value n)> more) {
  SlotBody body(e.builder, e.loc, "refresh", e.slots());
  Value n = body.load(states::kLength), a = body.load(states::kAccepted);
  SmallVector<Value> values{tokensOf(body, /*module=*/1, {})};
  for (int64_t d = 1; d <= int64_t(rows.size()); ++d) {
    int64_t count = rowsOf(d);
    Value first = body.sub(body.sub(n, a), behind(d));
    Value newest = body.add(a, d - 1);
    values.push_back(body.vector(count, [&](Value) { return body.slot(); }));
    values.push_back(body.vector(count, [&](Value j) {
      Value position = body.add(first, j);
      Value live = body.both(body.compare(Predicate::sge, position, 0),
                             body.compare(Predicate::sle, j, newest));
      return body.select(live, position, body.constant(-1));
    }));
    Value anchor = body.min(newest, body.constant(count - 1));
    values.push_back(body.add(body.mul(body.index(), count), anchor));
    if (d == 1)
      continue;
    Value row =
        body.max(body.min(a, body.constant(count - 2)), body.constant(0));
    values.push_back(body.add(body.mul(body.index(), count - 1), row));
  }
  llvm::append_range(values, more(body, n));
  ValueRange places = body.yield(values);

  auto take = [&] {
    Value place = places.front();
    places = places.drop_front();
    return place;
  };
  rows.front().tokens = e.byRow(take());
  for (Rows &of : rows) {
    of.slots = e.byRow(take());
    of.positions = e.byRow(take());
    of.anchor = take();
    if (&of != &rows.front())
      of.carried = take();
  }
  return SmallVector<Value>(places);
}

static Type activation(OpBuilder &builder, int64_t width) {
  return RankedTensorType::get({ShapedType::kDynamic, width},
                               builder.getF32Type());
}

Value Refresh::readHidden(int64_t width) {
  useState(e.module, states::kHidden, width);
  return ReadStateOp::create(e.builder, e.loc, activation(e.builder, width),
                             states::kHidden, e.slots(), rowsOf(1));
}

Value Refresh::makeRows(int64_t module) {
  Rows &of = rows[module - 1];
  return e.makeRows(of.slots, of.positions);
}

/// Returns the hidden states of a module's rows. Module 1 reads the target's
/// hidden states of the verified rows. Module d reads its carry and then the
/// results of module d - 1.
Value Refresh::hiddenOf(int64_t module, Value before) {
  if (module == 1 && input)
    return e.inlineRegion(*input,
                          readHidden(widthOf(input->getArgument(0))))[0];
  int64_t width = widthOf(steps[module - 1]->getArgument(1));
  if (module == 1)
    return readHidden(width);
  Type type = activation(e.builder, width);
  std::string carry = states::carry(module);
  useState(e.module, carry, width);
  Value kept = ReadStateOp::create(e.builder, e.loc, type, carry, e.slots(),
                                   /*rows=*/1);
  Value hidden =
      ConcatRowsOp::create(e.builder, e.loc, type, kept, /*head_rows=*/1,
                           before, /*tail_rows=*/rowsOf(module) - 1);
  WriteStateOp::create(e.builder, e.loc, before, rows[module - 1].carried,
                       carry, e.slots());
  return hidden;
}

ModuleOutputs Refresh::step(int64_t module, Value tokens, Value hidden,
                            Value rows) {
  SmallVector<Value> args{tokens, rows};
  if (takesHidden())
    args.insert(args.begin() + 1, hidden);
  SmallVector<Value> results = e.inlineRegion(*steps[module - 1], args);
  return {results[0], takesHidden() ? results[1] : Value()};
}

/// Writes the tokens of a module's rows, drafts included. If drafts may be
/// missing, rows with missing tokens get no position.
void Refresh::writeTokens(int64_t module, ArrayRef<Value> drafts, bool mayEnd) {
  Rows &of = rows[module - 1];
  SmallVector<Value> inputs(drafts);
  if (mayEnd)
    inputs.push_back(e.bySlot(of.positions, rowsOf(module)));
  SlotBody body(e.builder, e.loc, "refresh", e.slots(), inputs);
  SmallVector<Value> known;
  for (size_t i = 0; i < drafts.size(); ++i)
    known.push_back(body.input(i));
  SmallVector<Value> written;
  if (mayEnd) {
    Value accepted = body.load(states::kAccepted), none = body.constant(-1);
    Value later = body.vector(known);
    written.push_back(body.vector(rowsOf(module), [&](Value j) {
      Value draft = body.element(later, body.sub(body.sub(j, accepted), 1));
      Value isNone = body.both(body.compare(Predicate::sgt, j, accepted),
                               body.compare(Predicate::slt, draft, 0));
      return body.select(isNone, none,
                         body.element(body.input(drafts.size()), j));
    }));
    // Tokens of padding rows are not read.
    for (Value &draft : known)
      draft = body.max(draft, body.constant(0));
  }
  written.push_back(tokensOf(body, module, known));
  ValueRange grids = body.yield(written);
  of.tokens = e.byRow(grids.back());
  if (mayEnd)
    of.positions = e.byRow(grids.front());
}

ModuleOutputs Refresh::run(int64_t module, Value before, ArrayRef<Value> drafts,
                           bool mayEnd) {
  if (module > 1)
    writeTokens(module, drafts, mayEnd);
  Value hidden = takesHidden() ? hiddenOf(module, before) : Value();
  return step(module, rows[module - 1].tokens, hidden, makeRows(module));
}
