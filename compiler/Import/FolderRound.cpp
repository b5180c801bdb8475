//===- FolderRound.cpp - What drafters in folders do in a round -----------===//

#include "compiler/Import/FolderEmitter.h"

#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

namespace mtp::importer {

namespace {

bool isEagle3(ModelContext &context) {
  return context.draft.folder->method == FolderMethod::Eagle3;
}

/// The drafter's step in a region; a model takes no hidden state.
void emitStepRegion(ModelContext &context, mlir::Region &region) {
  mlir::OpBuilder::InsertionGuard guard(context.builder);
  bool isModel = context.draft.folder->method == FolderMethod::Model;
  llvm::SmallVector<Argument> arguments = {{"tokens", context.tokens()}};
  if (!isModel)
    arguments.push_back({"hidden", draftHidden(context)});
  arguments.push_back({"rows", context.rows()});
  mlir::Block *block = enterRegion(context, region, arguments);
  if (!isModel) {
    emitYield(context, emitStep(context, block->getArguments())->getResults());
    return;
  }
  mlir::Operation *step =
      emitOwn(context, kTarget, block->getArguments(),
              {context.logits(), draftHidden(context)}, "step");
  emitYield(context, step->getResult(0));
}

mlir::Type nodesType(ModelContext &context) {
  return mlir::RankedTensorType::get(
      {mlir::ShapedType::kDynamic, context.draft.tree.nodes - 1},
      context.builder.getI32Type());
}

mlir::DenseI64ArrayAttr treeOf(ModelContext &context) {
  if (context.draft.tree.kind != DraftTreeKind::Static)
    return {};
  return context.builder.getDenseI64ArrayAttr(context.draft.tree.parents);
}

Drafts emitChain(ModelContext &context) {
  auto draft = mlir::mtp::DraftChainOp::create(
      context.builder, context.name("drafts"), context.grid(),
      /*draft_logits=*/mlir::Type(), vocabularyOf(context),
      leastProbability(context), 1u);
  if (isEagle3(context)) {
    mlir::OpBuilder::InsertionGuard guard(context.builder);
    mlir::Block *block = enterRegion(context, draft.getInputRegion(),
                                     {{"taps", context.handedOn()}});
    emitYield(context, emitFused(context, block->getArgument(0)));
  }
  emitStepRegion(context, draft.getSteps().front());
  return {draft.getDrafts(), mlir::Value(), {}};
}

Drafts emitTree(ModelContext &context) {
  mlir::DenseI64ArrayAttr tree = treeOf(context);
  auto draft = mlir::mtp::DraftTreeOp::create(
      context.builder, context.name("drafts"), nodesType(context),
      /*draft_logits=*/mlir::Type(), tree, vocabularyOf(context));
  emitStepRegion(context, draft.getBodyRegion());
  return {draft.getDrafts(), mlir::Value(), tree};
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

/// The types of what @expand of the library hands on beside rows and states:
/// sums, numbers and masks of the beam's nodes.
llvm::SmallVector<mlir::Type> beamTypes(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  auto of = [&](mlir::Type element) -> mlir::Type {
    return mlir::RankedTensorType::get(
        {mlir::ShapedType::kDynamic, context.draft.tree.width}, element);
  };
  return {of(builder.getF32Type()), of(builder.getI32Type()),
          of(builder.getI64Type())};
}

/// Whether candidates are what the region of accept picks, and ranked so.
bool isCoupled(const ModelContext &context) {
  return context.draft.tree.rank == TreeRank::Coupled &&
         picksAsTarget(context.draft.accept);
}

/// The best tokens behind the beam's nodes with their logarithms, of each slot
/// a square. `beam` is as of emitExpand().
std::array<mlir::Value, 2> emitBest(ModelContext &context, mlir::Value slots,
                                    mlir::ValueRange beam) {
  mlir::OpBuilder &builder = context.builder;
  int64_t width = context.draft.tree.width, open = mlir::ShapedType::kDynamic;
  auto logits = llvm::cast<mlir::RankedTensorType>(beam[0].getType());
  mlir::Value groups = mlir::mtp::RegroupOp::create(
      builder, context.name("groups"),
      logits.clone({open, width, logits.getDimSize(1)}), beam[0]);
  mlir::Value noise;
  if (isCoupled(context))
    noise = emitCall(context, "verifying", {slots, beam[2]}, context.rows(),
                     "verifying")
                ->getResult(0);
  auto best = mlir::mtp::TopKOp::create(
      builder, context.name("best"),
      mlir::RankedTensorType::get({open, width, width}, builder.getI32Type()),
      logits.clone({open, width, width}), groups, width, vocabularyOf(context),
      noise, /*number=*/mlir::Value());
  // Sums along a path are of what picks have of each node, so that a node is
  // never better than the one before it.
  if (noise)
    best->setAttr(mlir::mtp::kSharesAttr, builder.getUnitAttr());
  return {best.getBest(), best.getLogs()};
}

/// Candidates behind the beam's nodes, and the nodes that go on: tokens, rows,
/// states, the next position, sums, numbers, masks. `beam` is logits, states,
/// position, sums, numbers, masks.
mlir::Operation *emitExpand(ModelContext &context, mlir::Value slots,
                            mlir::ValueRange beam) {
  std::array<mlir::Value, 2> best = emitBest(context, slots, beam);
  llvm::SmallVector<mlir::Value> inputs = {slots, best[0], best[1]};
  llvm::append_range(inputs, beam.drop_front());
  llvm::SmallVector<mlir::Type> results = {
      context.tokens(), context.rows(), draftHidden(context), context.tokens()};
  llvm::append_range(results, beamTypes(context));
  return emitApply(context, "expand", inputs, results, "beam");
}

/// The anchor's row of each slot, once for each node of the beam: what @expand
/// takes first.
llvm::SmallVector<mlir::Value> emitBegin(ModelContext &context,
                                         mlir::Value slots) {
  mlir::OpBuilder &builder = context.builder;
  auto refresh = mlir::mtp::RefreshOp::create(
      builder, context.name("refreshed"), context.tokens(), context.rows(),
      context.tokens(), context.tokens(), context.handedOn());
  mlir::Value hidden = refresh.getHidden();
  if (isEagle3(context))
    hidden = emitFused(context, hidden);
  mlir::Operation *step =
      emitStep(context, {refresh.getTokens(), hidden, refresh.getRows()});
  llvm::SmallVector<mlir::Type> results = {context.tokens()};
  llvm::append_range(results, beamTypes(context));
  mlir::Operation *begin = emitCall(
      context, "begin", {slots, refresh.getAnchor()}, results, "begin");
  auto take = [&](mlir::Value x, llvm::StringRef name) -> mlir::Value {
    return mlir::mtp::TakeRowsOp::create(builder, context.name(name),
                                         x.getType(), x, begin->getResult(0));
  };
  return {take(step->getResult(0), "logits"),
          take(step->getResult(1), "states"),
          refresh.getNext(),
          begin->getResult(1),
          begin->getResult(2),
          begin->getResult(3)};
}

/// The depths of the beam, one pass of the drafter for each.
mlir::scf::ForOp emitDepths(ModelContext &context, mlir::Value slots,
                            mlir::ValueRange first) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Value k = mlir::mtp::KOp::create(builder, context.name("k"),
                                         builder.getIndexType());
  mlir::Value one =
      mlir::arith::ConstantIndexOp::create(builder, context.name("c1"), 1);
  return mlir::scf::ForOp::create(
      builder, context.name("beam"), one, k, one, first,
      [&](mlir::OpBuilder &inner, mlir::Location location, mlir::Value,
          mlir::ValueRange beam) {
        mlir::OpBuilder outer = builder;
        builder = inner;
        mlir::Operation *next = emitExpand(context, slots, beam);
        mlir::Operation *step =
            emitStep(context, {next->getResult(0), next->getResult(2),
                               next->getResult(1)});
        llvm::SmallVector<mlir::Value> yielded(step->getResults());
        llvm::append_range(yielded, next->getResults().drop_front(3));
        mlir::scf::YieldOp::create(builder, location, yielded);
        builder = outer;
      });
}

Drafts emitBeam(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  mlir::Value slots = emitSlots(context);
  auto draft = mlir::mtp::DraftRegionOp::create(
      builder, context.name("drafts"),
      mlir::TypeRange{context.grid(), context.grid()});
  mlir::OpBuilder::InsertionGuard guard(builder);
  enterRegion(context, draft.getBodyRegion(), {});
  llvm::SmallVector<mlir::Value> first = emitBegin(context, slots);
  mlir::scf::ForOp depths = emitDepths(context, slots, first);
  mlir::Operation *last = emitExpand(context, slots, depths.getResults());
  mlir::Value most =
      emitNumber(context, slots, context.draft.tree.nodes - 1, "most");
  mlir::Operation *kept =
      emitCall(context, "rerank", {slots, last->getResult(3), most},
               {context.grid(), context.grid()}, "kept");
  emitYield(context, kept->getResults());
  return {draft.getResult(0), draft.getResult(1), {}};
}

} // namespace

mlir::FlatSymbolRefAttr vocabularyOf(ModelContext &context) {
  if (context.draft.folder->eagle.tokens.empty())
    return {};
  return mlir::FlatSymbolRefAttr::get(context.builder.getContext(),
                                      kDrafterVocabulary);
}

mlir::Type draftLogits(ModelContext &context) {
  int64_t columns = context.draft.folder->eagle.draftVocab;
  return columns > 0 ? context.activation(columns) : context.logits();
}

mlir::Type draftHidden(ModelContext &context) {
  return context.activation(context.draft.folder->layers.hidden);
}

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

mlir::Operation *emitStep(ModelContext &context, mlir::ValueRange inputs) {
  return emitOwn(context, "step", inputs,
                 {draftLogits(context), draftHidden(context)}, "step");
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
  if (context.draft.tree.kind != DraftTreeKind::Dynamic)
    return;
  std::string file =
      "<beam" + std::to_string(context.draft.tree.width) + ".mlir>";
  llvm::SmallVector<llvm::StringRef> functions = {"begin", "expand", "rerank"};
  if (isCoupled(context))
    functions.push_back("verifying");
  emitImport(context, file, functions);
}

Drafts emitFolderDrafts(ModelContext &context) {
  if (context.draft.folder->heads() > 0)
    return emitHeads(context);
  if (context.draft.folder->isBlock())
    return emitBlockDrafts(context);
  if (isParallel(context))
    return emitParallelDrafts(context);
  switch (context.draft.tree.kind) {
  case DraftTreeKind::Chain:
    return emitChain(context);
  case DraftTreeKind::Static:
    return emitTree(context);
  case DraftTreeKind::Dynamic:
    return emitBeam(context);
  }
  return {};
}

} // namespace mtp::importer
