//===- DraftPrefill.cpp - What a prefill does for the drafter -------------===//

#include "passes/round/DraftPrefill.h"
#include "passes/round/RoundExpansion.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

/// Of the prompt's row that module - 1 leaves for the first round, the index
/// among the chunk's rows; -1 where another chunk has it.
static Value carriedRow(Expansion &e, int64_t module) {
  useState(e.module, states::kSequences);
  SlotBody body(e.builder, e.loc, "carried_rows", e.slots());
  Value first = sequenceWord(body, SequenceWord::FirstRow);
  Value row =
      body.sub(body.sub(sequenceWord(body, SequenceWord::Total), module),
               sequenceWord(body, SequenceWord::Start));
  Value inChunk =
      body.both(body.compare(Predicate::sge, row, 0),
                body.compare(Predicate::slt, row,
                             sequenceWord(body, SequenceWord::Rows)));
  return body
      .yield(body.select(inChunk, body.add(first, row), body.constant(-1)))
      .front();
}

LogicalResult mlir::mtp::expandDraftPrefill(Operation *op,
                                            ArrayRef<Region *> steps) {
  auto verifies = op->getBlock()->getOps<VerifyOp>();
  if (verifies.empty() || !(*verifies.begin())->isBeforeInBlock(op))
    return op->emitOpError("expected an mtp.verify before it, whose hidden "
                           "states fill the modules' caches");
  Expansion e(op);
  Value hidden = (*verifies.begin()).getHidden();
  bool takesHidden = steps.front()->getNumArguments() == 3;
  auto tokens =
      RankedTensorType::get({ShapedType::kDynamic}, e.builder.getI32Type());
  for (auto [i, step] : llvm::enumerate(steps)) {
    int64_t module = i + 1;
    if (module > 1) {
      std::string carry = states::carry(module);
      useState(e.module, carry, widthOf(hidden));
      WriteStateOp::create(e.builder, e.loc, hidden, carriedRow(e, module),
                           carry, e.slots());
    }
    auto prompt = PromptRowsOp::create(e.builder, e.loc, tokens,
                                       RowsType::get(op->getContext()),
                                       takesHidden ? module : 0);
    SmallVector<Value> args{prompt.getTokens(), prompt.getRows()};
    if (takesHidden)
      args.insert(args.begin() + 1, hidden);
    SmallVector<Value> results = e.inlineRegion(*step, args);
    hidden = takesHidden ? results[1] : Value();
  }
  op->erase();
  return success();
}
