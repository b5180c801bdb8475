//===- TokenDrafters.cpp - Drafts of the tokens so far --------------------===//
//
// Drafters without weights: calls of functions of the library, with the numbers
// that --drafter and --before say.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/ModelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mtp::importer {

namespace {

using Values = llvm::SmallVector<mlir::Value>;

/// Of the suffixes: tokens of a match at most, and what a token's votes must
/// be, ArcticInference's min_token_prob of 0.1.
constexpr int64_t kSuffixTokens = 8, kSuffixPercent = 10;

/// Calls a lookup in a body, with `inputs` in front of its sizes.
mlir::Value callLookup(ModelContext &context, llvm::StringRef callee,
                       Values inputs, const LookupSizes &sizes) {
  inputs.push_back(emitIndex(context, sizes.least, "min"));
  inputs.push_back(emitIndex(context, sizes.most, "max"));
  return emitCall(context, callee, inputs, context.tokens(), "found")
      ->getResult(0);
}

/// The numbers of lookahead decoding, in a body.
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
    functions.push_back("lookup_before");
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

Drafts emitBefore(ModelContext &context, mlir::Value slots, Drafts drafted) {
  if (!context.draft.before)
    return drafted;
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
  mlir::Value grid = mlir::mtp::RegroupOp::create(builder, context.name("said"),
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
