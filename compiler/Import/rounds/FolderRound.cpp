//===- FolderRound.cpp - A round's part for drafters in folders -----------===//

#include "compiler/Import/emitters/FolderEmitter.h"
#include "compiler/Import/rounds/StepRound.h"

namespace mtp::importer {

namespace {

Drafts emitChain(ModelContext &context) {
  auto draft = mlir::mtp::DraftChainOp::create(
      context.builder, context.name("drafts"), context.grid(),
      /*draft_logits=*/mlir::Type(), vocabularyOf(context),
      leastProbability(context), 1u);
  if (fusesTaps(context)) {
    mlir::OpBuilder::InsertionGuard guard(context.builder);
    mlir::Block *block = enterRegion(context, draft.getInputRegion(),
                                     {{"taps", context.handedOn()}});
    emitYield(context, emitFused(context, block->getArgument(0)));
  }
  emitStepRegion(context, draft.getSteps().front());
  return {draft.getDrafts(), mlir::Value(), {}};
}

/// Emits the logits of Medusa's head `i`.
mlir::Value emitMedusaHead(ModelContext &context, mlir::Value hidden,
                           int64_t i) {
  const MedusaConfig &medusa = context.draft.folder->medusa;
  mlir::Operation *x = emitOwn(context, "blocks", hidden, context.hidden(), "x",
                               numbered(medusa.blocksPrefix, "{i}", i));
  return emitOwn(context, "output", x->getResult(0), context.logits(), "logits",
                 numbered(medusa.outputPrefix, "{i}", i))
      ->getResult(0);
}

std::string headFunction(int64_t i) {
  return (kDrafterFunctions + "head_").str() + std::to_string(i);
}

/// Emits @draft_head_0 and so on, so that a head is one line of the round.
void emitHeadsInFull(ModelContext &context) {
  bool isMedusa = context.draft.folder->method == FolderMethod::Medusa;
  for (int64_t i = 0; i < context.draft.maxK; ++i) {
    FunctionEmitter head(
        context, headFunction(i),
        {{"hidden", context.hidden()}, {"rows", context.rows()}},
        {context.logits()}, /*prefixes=*/{});
    mlir::Value hidden = head.argument(0);
    head.finish(isMedusa ? emitMedusaHead(context, hidden, i)
                         : emitHeadLayer(context, hidden, head.argument(1), i));
  }
}

Drafts emitHeads(ModelContext &context) {
  mlir::DenseI64ArrayAttr tree = treeOf(context);
  auto draft = mlir::mtp::DraftHeadsOp::create(
      context.builder, context.name("drafts"),
      tree ? nodesType(context) : context.grid(),
      /*draft_logits=*/mlir::Type(), tree, /*vocabulary=*/nullptr,
      unsigned(context.draft.maxK));
  for (int64_t i = 0; i < context.draft.maxK; ++i) {
    mlir::OpBuilder::InsertionGuard guard(context.builder);
    mlir::Block *block =
        enterRegion(context, draft.getHeads()[unsigned(i)],
                    {{"hidden", context.hidden()}, {"rows", context.rows()}});
    mlir::Operation *head =
        emitApply(context, headFunction(i), block->getArguments(),
                  context.logits(), "logits");
    emitYield(context, head->getResults());
  }
  return {draft.getDrafts(), mlir::Value(), tree};
}

} // namespace

bool picksAsTarget(const AcceptSpec &rule) {
  return rule.kind == AcceptKind::Exact || rule.isLossy();
}

mlir::Value emitPick(ModelContext &context, mlir::Value logits,
                     mlir::Value rows) {
  if (!picksAsTarget(context.draft.accept))
    return mlir::mtp::ArgmaxOp::create(context.builder, context.name("picked"),
                                       context.tokens(), logits,
                                       vocabularyOf(context));
  return mlir::mtp::SampleOp::create(
      context.builder, context.name("picked"), context.tokens(), logits, rows,
      /*number=*/mlir::Value(), vocabularyOf(context));
}

mlir::Operation *emitOwn(ModelContext &context, llvm::StringRef callee,
                         mlir::ValueRange inputs, mlir::TypeRange results,
                         llvm::StringRef name, const std::string &prefix) {
  std::string root = kDrafterRoot.str() + context.draft.folder->root;
  return emitApply(context, (kDrafterFunctions + callee).str(), inputs, results,
                   name, root + prefix);
}

mlir::Value emitFused(ModelContext &context, mlir::Value taps) {
  return emitOwn(context, "fuse", taps, draftHidden(context), "fused")
      ->getResult(0);
}

void importFolder(ModelContext &context) {
  if (context.draft.folder->heads() > 0)
    return emitHeadsInFull(context);
  if (context.draft.folder->isBlock())
    return importBlock(context);
  if (isParallel(context))
    return importParallel(context);
}

Drafts emitFolderDrafts(ModelContext &context) {
  if (context.draft.folder->heads() > 0)
    return emitHeads(context);
  if (context.draft.folder->isBlock())
    return emitBlockDrafts(context);
  if (isParallel(context))
    return emitParallelDrafts(context);
  return context.draft.tree.kind == DraftTreeKind::Chain ? emitChain(context)
                                                         : emitTree(context);
}

} // namespace mtp::importer
