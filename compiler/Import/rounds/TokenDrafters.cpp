//===- TokenDrafters.cpp - Drafters that read only tokens -----------------===//
//
// Drafters without weights are calls of library functions with the numbers from
// --drafter and --before.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mtp::importer {

namespace {

using Values = llvm::SmallVector<mlir::Value>;

/// Limits of suffix: the largest number of tokens of a match, and the least
/// share of votes in percent (ArcticInference's min_token_prob of 0.1).
constexpr int64_t kSuffixTokens = 8, kSuffixPercent = 10;

/// Calls a lookup in a per-slot body. Its arguments are `inputs`, then the
/// sizes.
mlir::Value callLookup(ModelContext &context, llvm::StringRef callee,
                       Values inputs, const LookupSizes &sizes) {
  inputs.push_back(emitIndex(context, sizes.least, "min"));
  inputs.push_back(emitIndex(context, sizes.most, "max"));
  return emitCall(context, callee, inputs, context.tokens(), "found")
      ->getResult(0);
}

/// Emits the sizes of lookahead decoding, in a per-slot body.
Values lookaheadNumbers(ModelContext &context) {
  const LookaheadSizes &sizes = context.draft.drafter.lookahead;
  return {emitIndex(context, sizes.window, "w"),
          emitIndex(context, sizes.ngram, "n"),
          emitIndex(context, sizes.guesses, "g")};
}

} // namespace

bool readsTokens(const ModelContext &context) {
  DrafterKind kind = context.draft.drafter.kind;
  return context.draft.before || kind == DrafterKind::Lookup ||
         kind == DrafterKind::Suffix || kind == DrafterKind::Lookahead;
}

void importTokenDrafters(ModelContext &context) {
  if (!readsTokens(context))
    return;
  DrafterKind kind = context.draft.drafter.kind;
  llvm::SmallVector<llvm::StringRef> functions = {"remember"};
  if (kind == DrafterKind::Lookup)
    functions.push_back("lookup");
  if (context.draft.before)
    functions.push_back(context.draft.tree.kind == DraftTreeKind::Chain
                            ? "lookup_before"
                            : "lookup_before_tree");
  emitImport(context, "<lookup.mlir>", functions);
  if (kind == DrafterKind::Suffix)
    emitImport(context, "<suffix.mlir>", {"suffix"});
  if (kind == DrafterKind::Lookahead)
    emitImport(context, "<lookahead.mlir>", {"lookahead", "learn"});
}

void emitRemember(ModelContext &context) {
  if (readsTokens(context))
    emitCall(context, "remember", {}, {}, "kept");
}

Drafts emitLookup(ModelContext &context, mlir::Value slots) {
  auto lookup = emitPerSlot(
      context, "drafts", slots, {}, context.grid(), [&](mlir::ValueRange) {
        return Values{
            callLookup(context, "lookup", {}, context.draft.drafter.lookup)};
      });
  return {lookup->getResult(0), mlir::Value()};
}

Drafts emitSuffix(ModelContext &context, mlir::Value slots) {
  auto suffix = emitPerSlot(
      context, "drafts", slots, {}, context.grid(), [&](mlir::ValueRange) {
        mlir::Value most = emitIndex(context, kSuffixTokens, "max");
        mlir::Value percent = mlir::arith::ConstantIntOp::create(
            context.builder, context.name("percent"), kSuffixPercent, 32);
        return Values(emitCall(context, "suffix", {most, percent},
                               context.tokens(), "found")
                          ->getResults());
      });
  return {suffix->getResult(0), mlir::Value()};
}

Drafts emitLookahead(ModelContext &context, mlir::Value slots) {
  auto tree = emitPerSlot(
      context, "tree", slots, {}, {context.grid(), context.grid()},
      [&](mlir::ValueRange) {
        return Values(emitCall(context, "lookahead", lookaheadNumbers(context),
                               {context.tokens(), context.tokens()}, "nodes")
                          ->getResults());
      });
  return {tree->getResult(0), tree->getResult(1)};
}

mlir::Value emitParents(ModelContext &context, mlir::DenseI64ArrayAttr tree) {
  mlir::OpBuilder &builder = context.builder;
  llvm::SmallVector<int32_t> nodes(tree.asArrayRef());
  mlir::Value all = mlir::arith::ConstantOp::create(
      builder, context.name("tree"), builder.getI32TensorAttr(nodes));
  mlir::Value count =
      mlir::mtp::NodesOp::create(builder, context.name("nodes"));
  return mlir::tensor::GenerateOp::create(
      builder, context.name("parents"), context.tokens(), count,
      [&](mlir::OpBuilder &inner, mlir::Location loc, mlir::ValueRange at) {
        mlir::tensor::YieldOp::create(
            inner, loc, mlir::tensor::ExtractOp::create(inner, loc, all, at));
      });
}

/// Replaces a slot's tree by a chain of the lookup's drafts, if there are any.
/// A chain is also a tree, so all slots have trees.
static Drafts emitBeforeTree(ModelContext &context, mlir::Value slots,
                             const Drafts &drafted) {
  Values inputs = {drafted.drafts};
  if (drafted.parents)
    inputs.push_back(drafted.parents);
  const LookupSizes &sizes = *context.draft.before;
  auto body = [&](mlir::ValueRange own) {
    mlir::Value parents =
        drafted.parents ? own.back() : emitParents(context, drafted.tree);
    Values numbers = {own.front(), parents,
                      emitIndex(context, sizes.least, "min"),
                      emitIndex(context, sizes.most, "max")};
    return Values(emitCall(context, "lookup_before_tree", numbers,
                           {context.tokens(), context.tokens()}, "found")
                      ->getResults());
  };
  auto first = emitPerSlot(context, "drafts", slots, inputs,
                           {context.grid(), context.grid()}, body);
  return {first->getResult(0), first->getResult(1)};
}

Drafts emitBefore(ModelContext &context, mlir::Value slots, Drafts drafted) {
  if (!context.draft.before)
    return drafted;
  if (drafted.isTree())
    return emitBeforeTree(context, slots, drafted);
  auto first = emitPerSlot(context, "drafts", slots, drafted.drafts,
                           context.grid(), [&](mlir::ValueRange own) {
                             return Values{callLookup(context, "lookup_before",
                                                      {own.front()},
                                                      *context.draft.before)};
                           });
  return {first->getResult(0), mlir::Value()};
}

void emitLearning(ModelContext &context, mlir::Value slots, Drafts drafted,
                  mlir::Value logits) {
  if (context.draft.drafter.kind != DrafterKind::Lookahead)
    return;
  mlir::OpBuilder &builder = context.builder;
  mlir::Value k = mlir::mtp::KOp::create(builder, context.name("k"),
                                         builder.getIndexType());
  mlir::Value drafts = mlir::arith::CmpIOp::create(
      builder, context.name("is_drafting"), mlir::arith::CmpIPredicate::ugt, k,
      emitIndex(context, 0, "none"));
  auto branch = mlir::scf::IfOp::create(builder, builder.getUnknownLoc(),
                                        drafts, /*withElseRegion=*/false);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  mlir::Value best = mlir::mtp::ArgmaxOp::create(builder, context.name("best"),
                                                 context.tokens(), logits,
                                                 /*tokens=*/nullptr);
  mlir::Value grid = mlir::mtp::ReshapeOp::create(builder, context.name("said"),
                                                  context.grid(), best);
  emitPerSlot(context, "learnt", slots, {drafted.drafts, grid}, {},
              [&](mlir::ValueRange own) {
                Values inputs = lookaheadNumbers(context);
                inputs.append(own.begin(), own.end());
                emitCall(context, "learn", inputs, {}, "learnt");
                return Values();
              });
}

} // namespace mtp::importer
