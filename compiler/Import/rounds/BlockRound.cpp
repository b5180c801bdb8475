//===- BlockRound.cpp - A round's part for block drafters -----------------===//
//
// The drafter's cache gets entries of the last accepted tokens, computed from
// the target's states. Then one pass fills the block. The functions are in
// library/block.mlir.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"
#include "compiler/Import/rounds/StepRound.h"
#include "runtime/schema/ConfidenceStates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mtp::importer {

namespace {

using Values = llvm::SmallVector<mlir::Value>;

constexpr llvm::StringRef kPMin(kDraftPMin);

const BlockConfig &blockOf(ModelContext &context) {
  return context.draft.folder->block;
}

/// Returns the library function that makes the rows of a block.
llvm::StringRef blockFunction(ModelContext &context) {
  return blockOf(context).fromAnchor ? "block_from_anchor" : "block_of_masks";
}

/// Returns true if each draft is picked after the preceding one.
bool isSequential(ModelContext &context) {
  return blockOf(context).markovRank > 0 || context.draft.confidence;
}

/// Returns true if the host sees the confidence in each draft: what the round
/// verifies is the block's alone.
bool showsConfidence(ModelContext &context) {
  return context.draft.confidence && !context.draft.before;
}

bool isExact(ModelContext &context) { return context.draft.accept.isExact(); }

/// Returns the name of the function that gives a slot's number of drafts. If
/// the rule is exact, a slot may have fewer drafts than the round.
llvm::StringRef limitFunction(ModelContext &context) {
  return isExact(context) ? "drafts_of_slot" : "drafts_of_round";
}

/// Emits the number of drafts of the slot, in a per-slot body.
mlir::Value emitLimit(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Value last = mlir::arith::ConstantIntOp::create(
      builder, context.name("last"), builder.getI32Type(),
      context.draft.maxContext - 1);
  return emitCall(context, limitFunction(context), last, builder.getI32Type(),
                  "drafts")
      ->getResult(0);
}

mlir::Value emitTake(ModelContext &context, mlir::Value x, mlir::Value which,
                     llvm::StringRef name) {
  return mlir::mtp::GatherRowsOp::create(context.builder, context.name(name),
                                         x.getType(), x, which);
}

/// Runs the block's rows. Returns the states of the rows that draft, one per
/// draft of each slot.
mlir::Value emitStates(ModelContext &context, mlir::Value slots) {
  bool fromAnchor = blockOf(context).fromAnchor;
  llvm::SmallVector<mlir::Type> types = {context.tokens(), context.rows()};
  if (!fromAnchor)
    types.push_back(context.tokens());
  mlir::Operation *block =
      emitApply(context, blockFunction(context),
                {slots, context.numbers["drafts"], context.numbers["mask"]},
                types, "block");
  mlir::Value states =
      emitOwn(context, "states", {block->getResult(0), block->getResult(1)},
              draftHidden(context), "states")
          ->getResult(0);
  if (fromAnchor)
    return states;
  return emitTake(context, states, block->getResult(2), "drafting");
}

/// Picks all drafts at once.
mlir::Value emitAll(ModelContext &context, mlir::Value slots,
                    mlir::Value logits) {
  mlir::Value rows =
      emitApply(context, "verifying", slots, context.rows(), "verifying")
          ->getResult(0);
  mlir::Value picked = emitPick(context, logits, rows);
  return mlir::mtp::ReshapeOp::create(context.builder, context.name("chain"),
                                      context.grid(), picked);
}

/// Emits one draft: its logits plus the contribution of the preceding token,
/// and its confidence. `carried` holds the preceding token, the drafts so far
/// and the position.
Values emitDraft(ModelContext &context, mlir::Value slots, mlir::Value states,
                 mlir::Value logits, mlir::Value least,
                 mlir::ValueRange carried) {
  const BlockConfig &block = blockOf(context);
  mlir::Operation *at =
      emitApply(context, "at_draft", {slots, carried[2], logits, states},
                {context.rows(), logits.getType(), states.getType()}, "at");
  mlir::Value sum = at->getResult(1);
  mlir::Value before;
  if (block.markovRank > 0) {
    mlir::Operation *markov = emitOwn(
        context, "markov", {carried[0], sum},
        {sum.getType(), context.activation(block.markovRank)}, "markov");
    sum = markov->getResult(0);
    before = markov->getResult(1);
  }
  mlir::Value token = emitPick(context, sum, at->getResult(0));
  Values put = {slots, carried[2], token, carried[1]};
  mlir::Value sure;
  if (least) {
    Values inputs = {at->getResult(2)};
    if (block.confidenceSeesMarkov)
      inputs.push_back(before);
    sure = emitOwn(context, "confidence", inputs, context.activation(1), "sure")
               ->getResult(0);
    put.append({sure, least});
  }
  mlir::Operation *more =
      emitApply(context, least ? "put_sure" : "put_draft", put,
                {context.grid(), context.tokens()}, "more");
  if (showsConfidence(context))
    emitApply(context, "show_sure",
              {slots, carried[2], more->getResult(0), sure}, {}, "shown");
  return {token, more->getResult(0), more->getResult(1)};
}

/// Picks the drafts one after the other.
mlir::Value emitSequence(ModelContext &context, mlir::Value slots,
                         mlir::Value states, mlir::Value logits,
                         mlir::Value least, mlir::Value next) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Operation *begin =
      emitApply(context, "begin_drafts", slots,
                {context.tokens(), context.grid()}, "begin");
  mlir::Value none = emitIndex(context, 0, "c0"),
              one = emitIndex(context, 1, "c1");
  mlir::Value k = mlir::mtp::KOp::create(builder, context.name("k"),
                                         builder.getIndexType());
  auto loop = mlir::scf::ForOp::create(
      builder, context.name("drafted"), none, k, one,
      Values{begin->getResult(0), begin->getResult(1), next},
      [&](mlir::OpBuilder &inner, mlir::Location location, mlir::Value,
          mlir::ValueRange carried) {
        mlir::OpBuilder outer = builder;
        builder = inner;
        mlir::scf::YieldOp::create(
            builder, location,
            emitDraft(context, slots, states, logits, least, carried));
        builder = outer;
      });
  return loop.getResult(1);
}

} // namespace

void addBlockNumbers(ModelContext &context, std::vector<RoundNumber> &numbers) {
  mlir::OpBuilder &builder = context.builder;
  numbers.push_back({"drafts", builder.getI32Type(),
                     [&context] { return emitLimit(context); }});
  auto mask = builder.getI32IntegerAttr(int32_t(blockOf(context).mask));
  numbers.push_back(constantNumber(context, "mask", mask));
  if (context.draft.confidence)
    numbers.push_back({"least", builder.getF32Type(), [&context] {
                         return mlir::mtp::LoadOp::create(
                             context.builder, context.name("least"),
                             context.builder.getF32Type(), kPMin,
                             mlir::ValueRange());
                       }});
}

/// Declares the input by which the block's drafts end.
static void emitPMin(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  auto state = mlir::mtp::StateOp::create(
      builder, builder.getUnknownLoc(), /*shared=*/false, kPMin,
      builder.getArrayAttr({}), builder.getF32Type(),
      builder.getF32FloatAttr(float(*context.draft.confidence)),
      mlir::mtp::Rebuild::Rows, /*rebuild_rows=*/1);
  state.setInput(true);
}

void importBlock(ModelContext &context) {
  llvm::SmallVector<llvm::StringRef> functions = {limitFunction(context),
                                                  blockFunction(context)};
  if (isSequential(context))
    functions.append({"begin_drafts", "at_draft",
                      context.draft.confidence ? "put_sure" : "put_draft"});
  else
    functions.push_back("verifying");
  if (showsConfidence(context))
    functions.push_back("show_sure");
  emitImport(context, "<block.mlir>", functions);
  if (context.draft.confidence)
    emitPMin(context);
}

Drafts emitBlockDrafts(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Value slots = emitSlots(context);
  auto draft = mlir::mtp::DraftRegionOp::create(
      builder, context.name("drafts"), mlir::TypeRange{context.grid()});
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, draft.getBodyRegion(), {});
  auto refresh = mlir::mtp::RefreshOp::create(
      builder, context.name("refreshed"), context.tokens(), context.rows(),
      context.tokens(), context.tokens(), context.handedOn());
  emitOwn(context, "context", {refresh.getHidden(), refresh.getRows()}, {},
          "context");
  mlir::Value states = emitStates(context, slots);
  mlir::Value logits =
      emitOwn(context, "logits", states, draftLogits(context), "logits")
          ->getResult(0);
  mlir::Value least = context.numbers.lookup("least");
  emitYield(context, isSequential(context)
                         ? emitSequence(context, slots, states, logits, least,
                                        refresh.getNext())
                         : emitAll(context, slots, logits));
  return {draft.getResult(0), mlir::Value(), {}};
}

} // namespace mtp::importer
