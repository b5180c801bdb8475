//===- RoundEmitter.cpp - Draft, verify, accept, commit -------------------===//

#include "compiler/Import/ModelEmitter.h"

namespace mtp::importer {

namespace {

/// Gives a region one block with named arguments and goes into it.
mlir::Block *enter(ModelContext &context, mlir::Region &region,
                   llvm::ArrayRef<Argument> arguments) {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> names;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    names.push_back(context.name(argument.name));
  }
  return context.builder.createBlock(&region, {}, types, names);
}

void yield(ModelContext &context, mlir::ValueRange values) {
  mlir::mtp::YieldOp::create(context.builder, context.builder.getUnknownLoc(),
                             values);
}

mlir::Value emitDraft(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  auto draft = mlir::mtp::DraftChainOp::create(
      builder, context.name("drafts"), context.grid(),
      /*draft_logits=*/mlir::Type(), /*vocabulary=*/nullptr,
      unsigned(context.draft.modules));
  for (int64_t d = 0; d < context.draft.modules; ++d) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Block *block = enter(context, draft.getSteps()[unsigned(d)],
                               {{"tokens", context.tokens()},
                                {"hidden", context.hidden()},
                                {"rows", context.rows()}});
    mlir::Operation *step =
        emitApply(context, kModule, block->getArguments(),
                  {context.logits(), context.hidden()}, "step",
                  modulePrefix(context.config, d), kDrafterCache, d);
    yield(context, step->getResults());
  }
  return draft.getDrafts();
}

mlir::mtp::VerifyOp emitVerify(ModelContext &context, mlir::Value drafts) {
  mlir::OpBuilder &builder = context.builder;
  auto verify = mlir::mtp::VerifyOp::create(builder, context.name("verified"),
                                            context.logits(), context.hidden(),
                                            /*more=*/mlir::TypeRange(), drafts,
                                            /*parents=*/mlir::Value(),
                                            /*tree=*/nullptr);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block =
      enter(context, verify.getBodyRegion(),
            {{"tokens", context.tokens()}, {"rows", context.rows()}});
  mlir::Operation *step =
      emitApply(context, kTarget, block->getArguments(),
                {context.logits(), context.hidden()}, "step");
  yield(context, step->getResults());
  return verify;
}

mlir::mtp::AcceptOp emitAccept(ModelContext &context, mlir::Value drafts,
                               mlir::Value logits) {
  mlir::OpBuilder &builder = context.builder;
  auto accept = mlir::mtp::AcceptOp::create(
      builder, context.name("accepted"), context.tokens(), context.grid(),
      /*path=*/mlir::Type(), drafts, logits, /*draft_logits=*/mlir::Value(),
      /*rows=*/mlir::Value(), /*parents=*/mlir::Value(),
      mlir::mtp::AcceptRule::Exact, /*tree=*/nullptr, /*rule_args=*/nullptr);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block =
      enter(context, accept.getBodyRegion(),
            {{"logits", context.logits()}, {"rows", context.rows()}});
  mlir::Value picks = mlir::mtp::SampleOp::create(
      builder, context.name("picks"), context.tokens(), block->getArgument(0),
      block->getArgument(1), /*number=*/mlir::Value(), /*tokens=*/nullptr);
  yield(context, picks);
  return accept;
}

} // namespace

void emitRound(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  auto round =
      mlir::mtp::RoundOp::create(builder, builder.getUnknownLoc(), "generate",
                                 /*k=*/mlir::IntegerAttr());
  mlir::OpBuilder::InsertionGuard guard(builder);
  enter(context, round.getBodyRegion(), {});
  mlir::Value drafts;
  if (context.draft.modules > 0)
    drafts = emitDraft(context);
  auto verify = emitVerify(context, drafts);
  auto accept = emitAccept(context, drafts, verify.getLogits());
  mlir::mtp::CommitOp::create(builder, builder.getUnknownLoc(),
                              accept.getCount(), accept.getPicks(),
                              verify.getHidden(), /*path=*/mlir::Value());
}

} // namespace mtp::importer
