//===- ParallelRound.cpp - A round's part for parallel drafters -----------===//
//
// The rows of a pass, from the library's parallel.mlir, are known tokens and
// masks. An mtp.refresh does not produce such rows, so the module has its own
// mtp.prefill.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"
#include "compiler/Import/rounds/StepRound.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <utility>

namespace mtp::importer {

namespace {

constexpr llvm::StringLiteral kLibrary = "<parallel.mlir>";

bool readsTaps(const ModelContext &context) {
  return context.draft.folder->method == FolderMethod::PEagle;
}

/// Emits the drafter's pass over rows and returns logits. `taps` are null if
/// the drafter reads only tokens.
mlir::Value emitPass(ModelContext &context, mlir::Value tokens,
                     mlir::Value taps, mlir::Value rows) {
  if (taps)
    return emitStep(context, {tokens, emitFused(context, taps), rows})
        ->getResult(0);
  mlir::Type hidden = context.activation(context.draft.folder->layers.hidden);
  return emitOwn(context, kTarget, {tokens, rows}, {context.logits(), hidden},
                 "step")
      ->getResult(0);
}

/// Emits the taps of the last verified rows and of the masks.
mlir::Value emitFeatures(ModelContext &context, mlir::Value slots) {
  auto refresh = mlir::mtp::RefreshOp::create(
      context.builder, context.name("refreshed"), context.tokens(),
      context.rows(), context.tokens(), context.tokens(), context.handedOn());
  mlir::Value filler = emitOwn(context, "mask", context.numbers["first"],
                               context.handedOn(), "filler")
                           ->getResult(0);
  return emitApply(context, "features", {slots, refresh.getHidden(), filler},
                   context.handedOn(), "taps")
      ->getResult(0);
}

/// Fills the drafter's cache with the rows of a prompt, whose states are
/// `hidden`.
void emitPromptRows(ModelContext &context, mlir::Value hidden) {
  mlir::OpBuilder &builder = context.builder;
  auto draft = mlir::mtp::DraftRegionOp::create(
      builder, builder.getUnknownLoc(), mlir::TypeRange());
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, draft.getBodyRegion(), {});
  auto prompt = mlir::mtp::PromptRowsOp::create(
      builder, context.name("prompt"), context.tokens(), context.rows(),
      /*ahead=*/readsTaps(context) ? 1 : 0);
  emitPass(context, prompt.getTokens(),
           readsTaps(context) ? hidden : mlir::Value(), prompt.getRows());
  emitYield(context, {});
}

} // namespace

bool isParallel(const ModelContext &context) {
  const DrafterFolder *folder = context.draft.folder;
  return folder && (folder->method == FolderMethod::Pard ||
                    folder->method == FolderMethod::PEagle);
}

void importParallel(ModelContext &context) {
  llvm::SmallVector<llvm::StringRef> functions = {"masked"};
  if (readsTaps(context))
    functions.push_back("features");
  emitImport(context, kLibrary, functions);
}

void addParallelNumbers(ModelContext &context,
                        std::vector<RoundNumber> &numbers) {
  auto add = [&](llvm::StringRef name, int64_t number) {
    auto value = context.builder.getI32IntegerAttr(int32_t(number));
    numbers.push_back(constantNumber(context, name, value));
  };
  add("mask", context.draft.folder->parallel.maskToken);
  add("behind", readsTaps(context) ? 1 : 0);
  if (readsTaps(context))
    add("first", 0);
}

void emitMaskFunction(ModelContext &context, ModelContext &own) {
  auto width = llvm::cast<mlir::RankedTensorType>(context.handedOn());
  FunctionEmitter emitter(own, "mask", {{"first", own.tokens()}}, {width},
                          {own.root});
  mlir::Value row = emitter.weight(
      "/" + kDrafterRoot.str() + context.draft.folder->parallel.maskHidden,
      {1, width.getDimSize(1)});
  mlir::Value mask = mlir::mtp::EmbedOp::create(
      own.builder, emitter.name("mask"), width, emitter.argument(0), row,
      /*scale=*/nullptr);
  emitter.finish(mask);
}

Drafts emitParallelDrafts(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Value slots = emitSlots(context);
  auto draft = mlir::mtp::DraftRegionOp::create(
      builder, context.name("drafts"), mlir::TypeRange{context.grid()});
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, draft.getBodyRegion(), {});
  bool isPaired = readsTaps(context);
  mlir::Operation *masked = emitCall(
      context, "masked",
      {slots, context.numbers["mask"], context.numbers["behind"]},
      {context.tokens(), context.rows(), context.tokens(), context.rows()},
      "masked");
  mlir::Value taps;
  if (isPaired)
    taps = emitFeatures(context, slots);
  mlir::Value all =
      emitPass(context, masked->getResult(0), taps, masked->getResult(1));
  mlir::Value logits =
      mlir::mtp::GatherRowsOp::create(builder, context.name("logits"),
                                      all.getType(), all, masked->getResult(2));
  mlir::Value picks = emitPick(context, logits, masked->getResult(3));
  mlir::Value own = mlir::mtp::ReshapeOp::create(builder, context.name("own"),
                                                 context.grid(), picks);
  emitYield(context, own);
  return {draft.getResult(0), mlir::Value(), {}};
}

void emitFolderPrefill(ModelContext &context) {
  if (!isParallel(context))
    return;
  mlir::OpBuilder &builder = context.builder;
  auto prefill = mlir::mtp::PrefillOp::create(builder, builder.getUnknownLoc(),
                                              "prompt", mlir::IntegerAttr());
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, prefill.getBodyRegion(), {});
  auto verify = emitVerify(context, Drafts());
  emitPromptRows(context, verify.getHidden());
  // A prompt has no drafts to accept.
  AcceptSpec rule = std::exchange(context.draft.accept, AcceptSpec());
  auto accept = emitAccept(context, Drafts(), verify.getLogits());
  context.draft.accept = rule;
  mlir::mtp::CommitOp::create(builder, builder.getUnknownLoc(),
                              accept.getCount(), accept.getPicks(),
                              verify.getHidden(), accept.getPath());
}

} // namespace mtp::importer
