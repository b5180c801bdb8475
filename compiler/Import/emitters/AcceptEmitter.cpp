//===- AcceptEmitter.cpp - The rule that accepts drafts -------------------===//
//
// `exact` is an attribute of mtp.accept. The other rules are functions of
// library/rules.mlir, which declares their arguments. In a chain a node's
// parent is the preceding node.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

namespace mtp::importer {

namespace {

using mlir::mtp::RuleArgument;

/// Returns the function that computes the rule for these drafts, or null for
/// `exact`.
const RuleFunction *functionOf(const AcceptRule &rule, const Drafts &drafted) {
  if (rule.ofDrawn && drafted.logits)
    return &*rule.ofDrawn;
  return rule.ofOthers ? &*rule.ofOthers : nullptr;
}

/// Writes the region of a rule.
class RuleEmitter {
public:
  RuleEmitter(ModelContext &context, const Drafts &drafted,
              const RuleFunction &function)
      : context(context), builder(context.builder), drafted(drafted),
        function(function) {}

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
  bool takes(std::string_view name) const { return function.sees(name); }
  bool takesNumbers() const { return takes("u") || takes("v"); }
  bool needsParents() const {
    return takes("parents") || (takesNumbers() && !function.goesByAnchor);
  }
  /// Calls a function that the module imports from the library.
  mlir::Operation *call(llvm::StringRef callee, mlir::ValueRange inputs,
                        mlir::TypeRange results) {
    called.insert(callee);
    return emitApply(context, callee, inputs, results, "ruled");
  }
  void emitRandomNumbers();
  void emitBest();
  void emitArguments();
  mlir::Operation *decide();

  ModelContext &context;
  mlir::OpBuilder &builder;
  const Drafts &drafted;
  const RuleFunction &function;
  mlir::Block *region = nullptr;
  /// Values that the function may take, by their names in declarations.
  llvm::StringMap<mlir::Value> values;
  llvm::SetVector<llvm::StringRef> called;
};

} // namespace

llvm::SmallVector<RuleArgument> RuleEmitter::sees() const {
  llvm::SmallVector<RuleArgument> names{RuleArgument::Slots};
  if (takes("picks"))
    names.push_back(RuleArgument::Picks);
  if (takesNumbers())
    names.push_back(RuleArgument::Positions);
  names.push_back(RuleArgument::Drafts);
  if (takes("p") || takes("best") || takes("logs"))
    names.push_back(RuleArgument::Logits);
  if (takes("q"))
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

void RuleEmitter::emitRandomNumbers() {
  auto grid = mlir::cast<mlir::RankedTensorType>(context.grid())
                  .clone(builder.getF32Type());
  llvm::SmallVector<mlir::Value> inputs{seen(RuleArgument::Slots),
                                        seen(RuleArgument::Positions)};
  if (!function.goesByAnchor)
    inputs.push_back(values["parents"]);
  auto numbers = call(function.goesByAnchor ? "numbers_by_anchor" : "numbers",
                      inputs, {grid, grid});
  values["u"] = numbers->getResult(0);
  values["v"] = numbers->getResult(1);
}

void RuleEmitter::emitBest() {
  auto columns = int64_t(*context.draft.accept.find(function.columns));
  auto best = mlir::mtp::TopKOp::create(
      builder, context.name("best"), groups(columns, builder.getI32Type()),
      groups(columns, builder.getF32Type()), seen(RuleArgument::Logits),
      uint64_t(columns), /*tokens=*/nullptr, /*noise=*/mlir::Value(),
      /*number=*/mlir::Value());
  values["best"] = best.getBest();
  values["logs"] = best.getLogs();
}

/// Emits the arguments of the function. Their order is fixed, so that the text
/// of a module does not depend on the order of a declaration.
void RuleEmitter::emitArguments() {
  values["slots"] = seen(RuleArgument::Slots);
  values["d"] = seen(RuleArgument::Drafts);
  if (takes("picks"))
    values["picks"] = seen(RuleArgument::Picks);
  if (needsParents() || drafted.isTree())
    values["parents"] = parents();
  if (takes("p"))
    values["p"] = probabilities(RuleArgument::Logits, "p");
  if (takes("best") || takes("logs"))
    emitBest();
  if (takesNumbers())
    emitRandomNumbers();
  if (takes("q"))
    values["q"] = probabilities(RuleArgument::DraftLogits, "q");
}

/// Calls the function.
mlir::Operation *RuleEmitter::decide() {
  llvm::SmallVector<mlir::Value> inputs;
  for (const std::string &name : function.takes) {
    mlir::Value own = values.lookup(name);
    inputs.push_back(own ? own : context.numbers[name]);
  }
  llvm::SmallVector<mlir::Type> results(function.takesTrees ? 3 : 2,
                                        context.tokens());
  return call(function.name, inputs, results);
}

void RuleEmitter::emit(mlir::Region &into) {
  llvm::SmallVector<Argument> arguments;
  for (RuleArgument name : sees())
    arguments.push_back({mlir::mtp::stringifyRuleArgument(name), typeOf(name)});
  region = enterRegion(context, into, arguments);
  emitArguments();
  mlir::Operation *decided = decide();
  mlir::Value count = decided->getResult(0);
  mlir::Value token = decided->getResults().back();
  if (!drafted.isTree())
    return emitYield(context, {count, token});
  auto along = call("along",
                    {seen(RuleArgument::Slots), seen(RuleArgument::Drafts),
                     values["parents"], count, decided->getResult(1), token},
                    {context.grid(), context.grid()});
  emitYield(context, {count, along->getResult(0), along->getResult(1)});
}

void addRuleNumbers(ModelContext &context, std::vector<RoundNumber> &numbers) {
  const AcceptSpec &spec = context.draft.accept;
  for (size_t i = 0; i < spec.numbers.size(); ++i) {
    // Integers are columns of mtp.top_k, which the compiler must know.
    if (spec.rule.numbers[i].isWhole)
      continue;
    const std::string &name = spec.rule.numbers[i].name;
    if (llvm::any_of(numbers, [&](const RoundNumber &other) {
          return other.name == name;
        }))
      context.fail(invalidArgument("--accept: the drafter has a number " +
                                   name + " too, got '" + ruleName(spec) +
                                   "'"));
    auto value = context.builder.getF32FloatAttr(float(spec.numbers[i]));
    numbers.push_back(constantNumber(context, name, value));
  }
}

/// Fails if a rule other than exact has no drafts to accept, or drafts that it
/// does not support.
static Status checkRule(const ModelContext &context, const Drafts &drafted) {
  const AcceptSpec &spec = context.draft.accept;
  std::string got = ", got '" + ruleName(spec) + "'";
  if (!drafted.drafts)
    return invalidArgument("--accept: expected exact where nothing drafts" +
                           got);
  const RuleFunction *function = functionOf(spec.rule, drafted);
  if (!function)
    return invalidArgument("--accept: expected a rule for drafts without the "
                           "distributions that they were drawn from" +
                           got);
  if (drafted.isTree() && !function->takesTrees)
    return invalidArgument("--accept: expected a rule that takes a tree (" +
                           spec.rulesForTrees + ")" + got);
  std::optional<double> columns = spec.find(function->columns);
  if (columns && *columns > double(context.config.vocab))
    return invalidArgument("--accept: expected at most the " +
                           std::to_string(context.config.vocab) +
                           " tokens of the model" + got);
  return okStatus();
}

/// Emits the region of mtp.accept that picks tokens from the target's logits.
static void emitPicks(ModelContext &context, mlir::mtp::AcceptOp accept) {
  mlir::Block *block =
      enterRegion(context, accept.getBodyRegion(),
                  {{"logits", context.logits()}, {"rows", context.rows()}});
  mlir::Value picks = mlir::mtp::SampleOp::create(
      context.builder, context.name("picks"), context.tokens(),
      block->getArgument(0), block->getArgument(1), /*number=*/mlir::Value(),
      /*tokens=*/nullptr);
  emitYield(context, picks);
}

/// Emits mtp.accept with a rule of the library.
static mlir::mtp::AcceptOp emitRule(ModelContext &context,
                                    const Drafts &drafted,
                                    const RuleFunction &function,
                                    mlir::Value logits) {
  mlir::OpBuilder &builder = context.builder;
  const AcceptSpec &spec = context.draft.accept;
  RuleEmitter rule(context, drafted, function);
  llvm::SmallVector<mlir::Attribute> names;
  for (RuleArgument name : rule.sees())
    names.push_back(
        mlir::mtp::RuleArgumentAttr::get(builder.getContext(), name));
  bool seesDrawn = function.sees("q");
  auto accept = mlir::mtp::AcceptOp::create(
      builder, context.name("accepted"), context.tokens(), context.grid(),
      drafted.isTree() ? context.grid() : mlir::Type(), drafted.drafts, logits,
      seesDrawn ? drafted.logits : mlir::Value(), /*rows=*/mlir::Value(),
      drafted.parents, mlir::mtp::AcceptRule::Custom, drafted.tree,
      builder.getArrayAttr(names));
  mlir::OpBuilder::InsertionGuard guard(builder);
  emitPicks(context, accept);
  accept->setAttr(mlir::mtp::kRuleAttr, builder.getStringAttr(ruleName(spec)));
  if (spec.rule.isLossy)
    accept->setAttr(mlir::mtp::kLossyAttr, builder.getUnitAttr());
  if (spec.rule.drafts != DraftChoice::Picked && !seesDrawn)
    accept->setAttr(mlir::mtp::kBestDraftsAttr, builder.getUnitAttr());
  rule.emit(accept.getRuleRegion());
  builder.setInsertionPoint(accept->getParentOp());
  emitImport(context, "<rules.mlir>", rule.functions());
  return accept;
}

mlir::mtp::AcceptOp emitAccept(ModelContext &context, const Drafts &drafted,
                               mlir::Value logits) {
  const AcceptRule &rule = context.draft.accept.rule;
  if (!rule.isExact())
    context.fail(checkRule(context, drafted));
  const RuleFunction *function = functionOf(rule, drafted);
  if (function && context.failure.isOk())
    return emitRule(context, drafted, *function, logits);
  mlir::OpBuilder &builder = context.builder;
  auto accept = mlir::mtp::AcceptOp::create(
      builder, context.name("accepted"), context.tokens(), context.grid(),
      /*path=*/mlir::Type(), drafted.drafts, logits,
      /*draft_logits=*/mlir::Value(), /*rows=*/mlir::Value(), drafted.parents,
      mlir::mtp::AcceptRule::Exact, drafted.tree, /*rule_arguments=*/nullptr);
  mlir::OpBuilder::InsertionGuard guard(builder);
  emitPicks(context, accept);
  return accept;
}

} // namespace mtp::importer
