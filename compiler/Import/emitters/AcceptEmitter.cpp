//===- AcceptEmitter.cpp - The rule that accepts drafts -------------------===//
//
// `exact` is an attribute of mtp.accept. The other rules are functions of
// library/rules.mlir, for chains and trees. In a chain a node's parent is the
// preceding node.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

namespace mtp::importer {

namespace {

using mlir::mtp::RuleArgument;

/// Writes the region of a rule.
class RuleEmitter {
public:
  RuleEmitter(ModelContext &context, const Drafts &drafted)
      : context(context), builder(context.builder), drafted(drafted),
        spec(context.draft.accept) {}

  /// Returns the arguments that the rule names, in their order.
  llvm::SmallVector<RuleArgument> sees() const;
  void emit(mlir::Region &into);
  /// Returns the library functions that emit() has called.
  llvm::ArrayRef<llvm::StringRef> functions() const {
    return called.getArrayRef();
  }

private:
  mlir::Type groups(int64_t columns, mlir::Type element);
  mlir::Type logits() {
    return groups(context.config.vocab, builder.getF32Type());
  }
  mlir::Type typeOf(RuleArgument name);
  mlir::Value seen(RuleArgument name);
  mlir::Value probabilities(RuleArgument of, llvm::StringRef name);
  mlir::Value parents();
  /// Calls a function that the module imports from the library.
  mlir::Operation *call(llvm::StringRef callee, mlir::ValueRange inputs,
                        mlir::TypeRange results) {
    called.insert(callee);
    return emitApply(context, callee, inputs, results, "ruled");
  }
  mlir::Operation *rejection();
  mlir::Operation *block();
  mlir::Operation *typical();
  mlir::Operation *relaxed();
  mlir::Operation *decide();

  ModelContext &context;
  mlir::OpBuilder &builder;
  const Drafts &drafted;
  const AcceptSpec &spec;
  mlir::Block *region = nullptr;
  mlir::Value before;
  llvm::SetVector<llvm::StringRef> called;
};

} // namespace

/// Returns true if the rule uses the distributions that drafts were drawn from.
static bool seesDrawn(const ModelContext &context, const Drafts &drafted) {
  return context.draft.accept.kind == AcceptKind::Rejection && drafted.logits;
}

llvm::SmallVector<RuleArgument> RuleEmitter::sees() const {
  llvm::SmallVector<RuleArgument> names{RuleArgument::Slots};
  names.push_back(spec.isLossy() ? RuleArgument::Picks
                                 : RuleArgument::Positions);
  names.append({RuleArgument::Drafts, RuleArgument::Logits});
  if (seesDrawn(context, drafted))
    names.push_back(RuleArgument::DraftLogits);
  return names;
}

mlir::Type RuleEmitter::groups(int64_t columns, mlir::Type element) {
  constexpr int64_t open = mlir::ShapedType::kDynamic;
  return mlir::RankedTensorType::get({open, open, columns}, element);
}

mlir::Type RuleEmitter::typeOf(RuleArgument name) {
  if (name == RuleArgument::Slots)
    return context.tokens();
  bool isLogits =
      name == RuleArgument::Logits || name == RuleArgument::DraftLogits;
  return isLogits ? logits() : context.grid();
}

mlir::Value RuleEmitter::seen(RuleArgument name) {
  auto names = sees();
  return region->getArgument(unsigned(llvm::find(names, name) - names.begin()));
}

mlir::Value RuleEmitter::probabilities(RuleArgument of, llvm::StringRef name) {
  return mlir::mtp::ProbabilitiesOp::create(builder, context.name(name),
                                            logits(), seen(of),
                                            seen(RuleArgument::Slots));
}

/// Returns the parents of a static tree's nodes that the round has.
mlir::Value RuleEmitter::parents() {
  if (drafted.parents)
    return drafted.parents;
  mlir::Value slots = seen(RuleArgument::Slots);
  if (!drafted.tree)
    return call("chain", {slots, seen(RuleArgument::Drafts)}, context.grid())
        ->getResult(0);
  auto body = [&](mlir::ValueRange) -> llvm::SmallVector<mlir::Value> {
    return {emitParents(context, drafted.tree)};
  };
  return emitPerSlot(context, "parents", slots, {}, context.grid(), body)
      ->getResult(0);
}

mlir::Operation *RuleEmitter::rejection() {
  auto grid = mlir::cast<mlir::RankedTensorType>(context.grid())
                  .clone(builder.getF32Type());
  mlir::Value slots = seen(RuleArgument::Slots);
  mlir::Value drafts = seen(RuleArgument::Drafts);
  mlir::Value p = probabilities(RuleArgument::Logits, "p");
  auto numbers = call("numbers", {slots, seen(RuleArgument::Positions), before},
                      {grid, grid});
  mlir::Value u = numbers->getResult(0), v = numbers->getResult(1);
  mlir::Type each = context.tokens();
  if (!seesDrawn(context, drafted))
    return call("rejection", {slots, drafts, before, p, u, v},
                {each, each, each});
  mlir::Value q = probabilities(RuleArgument::DraftLogits, "q");
  return call("rejection_drawn", {slots, drafts, p, q, u, v}, {each, each});
}

mlir::Operation *RuleEmitter::block() {
  auto grid = mlir::cast<mlir::RankedTensorType>(context.grid())
                  .clone(builder.getF32Type());
  mlir::Value slots = seen(RuleArgument::Slots);
  mlir::Value p = probabilities(RuleArgument::Logits, "p");
  auto numbers = call("numbers_by_anchor",
                      {slots, seen(RuleArgument::Positions)}, {grid, grid});
  return call("block",
              {slots, seen(RuleArgument::Drafts), p, numbers->getResult(0),
               numbers->getResult(1)},
              {context.tokens(), context.tokens()});
}

mlir::Operation *RuleEmitter::typical() {
  mlir::Value p = probabilities(RuleArgument::Logits, "p");
  mlir::Type each = context.tokens();
  return call("typical",
              {seen(RuleArgument::Slots), seen(RuleArgument::Drafts), before,
               seen(RuleArgument::Picks), p, context.numbers["epsilon"],
               context.numbers["delta"]},
              {each, each, each});
}

mlir::Operation *RuleEmitter::relaxed() {
  auto best = mlir::mtp::TopKOp::create(
      builder, context.name("best"), groups(spec.few, builder.getI32Type()),
      groups(spec.few, builder.getF32Type()), seen(RuleArgument::Logits),
      uint64_t(spec.few), /*tokens=*/nullptr, /*noise=*/mlir::Value(),
      /*number=*/mlir::Value());
  mlir::Type each = context.tokens();
  return call("relaxed",
              {seen(RuleArgument::Slots), seen(RuleArgument::Drafts), before,
               seen(RuleArgument::Picks), best.getBest(), best.getLogs(),
               context.numbers["delta"]},
              {each, each, each});
}

mlir::Operation *RuleEmitter::decide() {
  switch (spec.kind) {
  case AcceptKind::Block:
    return block();
  case AcceptKind::Typical:
    return typical();
  case AcceptKind::Relaxed:
    return relaxed();
  default:
    return rejection();
  }
}

void RuleEmitter::emit(mlir::Region &into) {
  llvm::SmallVector<Argument> arguments;
  for (RuleArgument name : sees())
    arguments.push_back({mlir::mtp::stringifyRuleArgument(name), typeOf(name)});
  region = enterRegion(context, into, arguments);
  if (spec.kind != AcceptKind::Block)
    before = parents();
  mlir::Operation *decided = decide();
  mlir::Value count = decided->getResult(0);
  mlir::Value token = decided->getResults().back();
  if (!drafted.isTree())
    return emitYield(context, {count, token});
  auto along = call("along",
                    {seen(RuleArgument::Slots), seen(RuleArgument::Drafts),
                     before, count, decided->getResult(1), token},
                    {context.grid(), context.grid()});
  emitYield(context, {count, along->getResult(0), along->getResult(1)});
}

void addRuleNumbers(ModelContext &context, std::vector<RoundNumber> &numbers) {
  const AcceptSpec &spec = context.draft.accept;
  auto add = [&](llvm::StringRef name, double number) {
    auto value = context.builder.getF32FloatAttr(float(number));
    numbers.push_back(constantNumber(context, name, value));
  };
  if (spec.kind == AcceptKind::Typical)
    add("epsilon", spec.epsilon);
  if (spec.isLossy())
    add("delta", spec.delta);
}

/// Fails if a rule other than exact has no drafts to accept, or drafts of a
/// shape that it does not support.
static Status checkRule(const ModelContext &context, const Drafts &drafted) {
  const AcceptSpec &spec = context.draft.accept;
  std::string got = ", got '" + ruleName(spec) + "'";
  if (!drafted.drafts)
    return invalidArgument("--accept: expected exact where nothing drafts" +
                           got);
  if (drafted.isTree() && !spec.takesTrees())
    return invalidArgument("--accept: expected a rule that takes a tree "
                           "(exact, rejection, typical or relaxed)" +
                           got);
  if (spec.few > context.config.vocab)
    return invalidArgument("--accept: expected at most the " +
                           std::to_string(context.config.vocab) +
                           " tokens of the model" + got);
  return okStatus();
}

mlir::mtp::AcceptOp emitAccept(ModelContext &context, const Drafts &drafted,
                               mlir::Value logits) {
  mlir::OpBuilder &builder = context.builder;
  const AcceptSpec &spec = context.draft.accept;
  bool isExact = spec.kind == AcceptKind::Exact;
  if (!isExact)
    context.fail(checkRule(context, drafted));
  RuleEmitter rule(context, drafted);
  llvm::SmallVector<mlir::Attribute> names;
  for (RuleArgument name : rule.sees())
    names.push_back(
        mlir::mtp::RuleArgumentAttr::get(builder.getContext(), name));
  auto accept = mlir::mtp::AcceptOp::create(
      builder, context.name("accepted"), context.tokens(), context.grid(),
      drafted.isTree() && !isExact ? context.grid() : mlir::Type(),
      drafted.drafts, logits,
      seesDrawn(context, drafted) ? drafted.logits : mlir::Value(),
      /*rows=*/mlir::Value(), drafted.parents,
      isExact ? mlir::mtp::AcceptRule::Exact : mlir::mtp::AcceptRule::Custom,
      drafted.tree, isExact ? nullptr : builder.getArrayAttr(names));
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block =
      enterRegion(context, accept.getBodyRegion(),
                  {{"logits", context.logits()}, {"rows", context.rows()}});
  mlir::Value picks = mlir::mtp::SampleOp::create(
      builder, context.name("picks"), context.tokens(), block->getArgument(0),
      block->getArgument(1), /*number=*/mlir::Value(), /*tokens=*/nullptr);
  emitYield(context, picks);
  if (isExact)
    return accept;
  accept->setAttr(mlir::mtp::kRuleAttr, builder.getStringAttr(ruleName(spec)));
  if (spec.isLossy())
    accept->setAttr(mlir::mtp::kLossyAttr, builder.getUnitAttr());
  else if (!seesDrawn(context, drafted))
    accept->setAttr(mlir::mtp::kBestDraftsAttr, builder.getUnitAttr());
  if (!context.failure.isOk())
    return accept;
  rule.emit(accept.getRuleRegion());
  builder.setInsertionPoint(accept->getParentOp());
  emitImport(context, "<rules.mlir>", rule.functions());
  return accept;
}

} // namespace mtp::importer
