//===- RepeatRounds.cpp - Decide whether to run another round -------------===//
//
// A device that runs rounds without the host checks after each round whether
// another one follows. Each slot answers in the program's output `again`, and
// stores the round's tokens in the ring, which the host reads.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"
#include "runtime/schema/LoopLayout.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_REPEATROUNDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct RepeatRoundsPass
    : public mlir::mtp::impl::RepeatRoundsPassBase<RepeatRoundsPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The control code after a round of k drafts. `drafted`, which may be null,
/// holds for each slot the number of drafts that could be accepted.
class ContinueFlagWriter {
public:
  ContinueFlagWriter(Expansion &e, int64_t k, Value drafted)
      : body(e.builder, e.loc, "again", e.slots(),
             drafted ? ValueRange(drafted) : ValueRange()),
        k(k), nodes(e.roundNodes()),
        context(e.module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr)
                    .getMaxContext()),
        hasDrafted(drafted != nullptr), round(word(::mtp::kLoopRound)) {}

  Value write();

private:
  Value word(::mtp::LoopWord index) {
    return body.load(states::kLoop, body.constant(index));
  }
  void setWord(Value value, ::mtp::LoopWord index) {
    body.store(value, states::kLoop, body.constant(index));
  }
  Value isStop(Value token);
  Value writeTokens(Value wasEnded, Value count);

  SlotBody body;
  int64_t k, nodes, context;
  bool hasDrafted;
  Value round;
};
} // namespace

/// Returns whether the sequence ends with this token. A negative token means
/// that no token could be picked.
Value ContinueFlagWriter::isStop(Value token) {
  Value isNone = body.compare(Predicate::slt, token, 0);
  return body
      .repeat(::mtp::kStopTokens, isNone,
              [&](Value index, ValueRange carried) -> SmallVector<Value> {
                Value stop = body.load(states::kStopTokens, index);
                Value same = body.compare(Predicate::eq, token, stop);
                return {body.either(carried.front(), same)};
              })
      .front();
}

/// Copies the tokens into the ring, followed by -1 for places without a draft.
/// Returns whether the sequence has ended, either before or with one of these
/// tokens.
Value ContinueFlagWriter::writeTokens(Value wasEnded, Value count) {
  auto one = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value token = body.load(states::kOutTokens, index), kept = token;
    Value isOut = body.compare(Predicate::slt, index, count);
    if (hasDrafted) {
      Value isDraft = body.compare(Predicate::sle, index, body.input(0));
      kept = body.select(body.either(isOut, isDraft), token, body.constant(-1));
    }
    body.store(kept, states::kRing, {round, body.add(index, 1)});
    return {body.either(carried.front(), body.both(isOut, isStop(token)))};
  };
  return body.repeat(k + 1, wasEnded, one).front();
}

Value ContinueFlagWriter::write() {
  Value count = body.load(states::kOutCount), none = body.constant(0);
  Value wasEnded = body.compare(Predicate::ne, word(::mtp::kLoopEnded), 0);
  body.store(body.select(wasEnded, none, count), states::kRing, {round, none});
  Value budget = body.sub(word(::mtp::kLoopBudget), count);
  Value ended = body.either(writeTokens(wasEnded, count),
                            body.compare(Predicate::sle, budget, 0));
  setWord(budget, ::mtp::kLoopBudget);
  setWord(body.select(ended, body.constant(1), none), ::mtp::kLoopEnded);
  Value next = body.add(round, 1);
  setWord(next, ::mtp::kLoopRound);

  Value isLast = body.compare(Predicate::sge, next, word(::mtp::kLoopRounds));
  Value length = body.load(states::kLength);
  Value rest = body.sub(word(::mtp::kLoopPositions), length);
  // At the context's end a window has fewer rows.
  Value places =
      body.max(body.sub(body.constant(context), length), body.constant(1));
  Value isFull = body.compare(Predicate::slt, rest,
                              body.min(places, body.constant(nodes)));
  Value yields = body.compare(Predicate::ne, word(::mtp::kLoopYields), 0);
  // A sequence that has ended goes on while it has pages. Rounds without pages
  // would write to the dummy page, two slots to the same place.
  Value stops =
      body.either(isLast, body.either(isFull, body.both(ended, yields)));
  Value wish = body.select(ended, none, body.constant(1));
  return body.yield(body.select(stops, body.constant(-1), wish)).front();
}

/// Removes the round's output of this name, if there is one, and returns its
/// value.
static Value takeOutput(RoundOp round, llvm::StringRef name) {
  Value value;
  for (auto output :
       llvm::make_early_inc_range(round.getBody()->getOps<OutputOp>()))
    if (output.getName() == name) {
      value = output.getValue();
      output.erase();
    }
  return value;
}

void RepeatRoundsPass::runOnOperation() {
  ModuleOp module = getOperation();
  for (RoundOp round : module.getOps<RoundOp>()) {
    if (round.getBody()->empty())
      continue;
    Value drafted = takeOutput(round, kDraftedOutput);
    Operation *last = &round.getBody()->back();
    if (failed(checkInstantiated(last)))
      return signalPassFailure();
    for (llvm::StringRef state :
         {states::kLength, states::kOutTokens, states::kOutCount, states::kLoop,
          states::kStopTokens, states::kRing})
      useState(module, state);
    Expansion e(last);
    e.builder.setInsertionPointAfter(last);
    Value again = ContinueFlagWriter(e, *e.roundK(), drafted).write();
    e.output(llvm::StringRef(::mtp::kAgain), again);
    ++numRounds;
  }
}
