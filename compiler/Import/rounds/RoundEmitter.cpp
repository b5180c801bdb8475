//===- RoundEmitter.cpp - Draft, verify, accept, commit -------------------===//

#include "compiler/Import/rounds/StepRound.h"

namespace mtp::importer {

namespace {

/// Imports what the drafter needs from the library.
void emitImports(ModelContext &context) {
  importTokenDrafters(context);
  if (context.draft.folder)
    importFolder(context);
  importTree(context);
}

/// Emits the beginning of a round, before drafting: stores the sequence so far,
/// and computes the numbers that drafter and rule need.
void emitBeginning(ModelContext &context) {
  std::vector<RoundNumber> numbers = roundNumbers(context);
  if (!numbers.empty() || readsTokens(context))
    emitNumbers(context, numbers);
}

/// Lets a round stop for a host that wants to see the drafts, or that computes
/// the tokens that may follow them.
void emitStop(ModelContext &context, const Drafts &drafted) {
  bool masks = context.draft.changesLogits && drafted.drafts;
  if (!context.draft.showsDrafts && !masks)
    return;
  if (!drafted.drafts)
    return context.fail(invalidArgument(
        "--show-drafts: expected something that drafts, got none"));
  mlir::mtp::AwaitHostOp::create(context.builder,
                                 context.builder.getUnknownLoc(),
                                 drafted.drafts, drafted.parents);
}

Drafts emitDrafts(ModelContext &context, mlir::Value slots) {
  switch (context.draft.drafter.kind) {
  case DrafterKind::Modules:
    return context.draft.modules > 0 ? emitModuleDrafts(context) : Drafts();
  case DrafterKind::Lookup:
    return emitLookup(context, slots);
  case DrafterKind::Suffix:
    return emitSuffix(context, slots);
  case DrafterKind::Lookahead:
    return emitLookahead(context, slots);
  case DrafterKind::Folder:
    return emitFolderDrafts(context);
  }
  return {};
}

} // namespace

mlir::mtp::VerifyOp emitVerify(ModelContext &context, const Drafts &drafted) {
  mlir::OpBuilder &builder = context.builder;
  auto verify = mlir::mtp::VerifyOp::create(
      builder, context.name("verified"), context.logits(),
      verifiedHidden(context), /*more=*/mlir::TypeRange(), drafted.drafts,
      drafted.parents, drafted.tree);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block =
      enterRegion(context, verify.getBodyRegion(),
                  {{"tokens", context.tokens()}, {"rows", context.rows()}});
  mlir::Operation *step =
      emitApply(context, kTarget, block->getArguments(),
                {context.logits(), context.handedOn()}, "step");
  emitYield(context,
            {step->getResult(0), emitHandedOn(context, step->getResult(1))});
  return verify;
}

void emitRound(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  emitImports(context);
  auto round =
      mlir::mtp::RoundOp::create(builder, builder.getUnknownLoc(), "generate",
                                 /*k=*/mlir::IntegerAttr());
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, round.getBodyRegion(), {});
  emitBeginning(context);
  mlir::Value slots = readsTokens(context) ? emitSlots(context) : mlir::Value();
  Drafts drafted = emitBefore(context, slots, emitDrafts(context, slots));
  emitStop(context, drafted);
  auto verify = emitVerify(context, drafted);
  emitLearning(context, slots, drafted, verify.getLogits());
  auto accept = emitAccept(context, drafted, verify.getLogits());
  mlir::mtp::CommitOp::create(builder, builder.getUnknownLoc(),
                              accept.getCount(), accept.getPicks(),
                              verify.getHidden(), accept.getPath());
}

} // namespace mtp::importer
