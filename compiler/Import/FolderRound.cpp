//===- FolderRound.cpp - What drafters in folders do in a round -----------===//

#include "compiler/Import/FolderEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// The logits of Medusa's head `i`.
mlir::Value emitMedusaHead(ModelContext &context, mlir::Value hidden,
                           int64_t i) {
  const MedusaConfig &medusa = context.draft.folder->medusa;
  mlir::Operation *x = emitOwn(context, "blocks", hidden, context.hidden(), "x",
                               numbered(medusa.blocksPrefix, "{i}", i));
  return emitOwn(context, "output", x->getResult(0), context.logits(), "logits",
                 numbered(medusa.outputPrefix, "{i}", i))
      ->getResult(0);
}

Drafts emitHeads(ModelContext &context) {
  mlir::DenseI64ArrayAttr tree = treeOf(context);
  bool isMedusa = context.draft.folder->method == FolderMethod::Medusa;
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
    mlir::Value hidden = block->getArgument(0);
    emitYield(context, isMedusa ? emitMedusaHead(context, hidden, i)
                                : emitHeadLayer(context, hidden,
                                                block->getArgument(1), i));
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

mlir::Value emitNumber(ModelContext &context, mlir::Value slots, int64_t number,
                       llvm::StringRef name) {
  auto body = [&](mlir::ValueRange) -> llvm::SmallVector<mlir::Value> {
    return {mlir::arith::ConstantIntOp::create(
        context.builder, context.name(name), context.builder.getI32Type(),
        number)};
  };
  return emitPerSlot(context, name, slots, {}, context.tokens(), body)
      ->getResult(0);
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
