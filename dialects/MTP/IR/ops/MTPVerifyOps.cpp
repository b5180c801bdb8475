//===- MTPVerifyOps.cpp - Verifiers of the verify operations --------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

/// Checks that a tree has well-formed parents and that drafts are given.
template <typename OpT>
static LogicalResult verifyTreeOfDrafts(OpT op) {
  if ((op.getTree() || op.getParents()) && !op.getDrafts())
    return op.emitOpError("expected drafts with a tree");
  return verifyTree(op, op.getTree(), op.getParents());
}

/// Checks that the region yields exactly `types`.
static LogicalResult expectYield(Operation *op, Region &region,
                                 TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (yield && llvm::equal(yield.getValues().getTypes(), types))
    return success();
  return op->emitOpError("expected the region to yield (") << types << ")";
}

/// Returns the type of tokens, one per row of `rows`.
static Type tokensFor(Value rows) {
  int64_t count = cast<RankedTensorType>(rows.getType()).getDimSize(0);
  return RankedTensorType::get({count},
                               IntegerType::get(rows.getContext(), 32));
}

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

Value VerifyOp::getRows() {
  if (getMore().empty() || !isa<RowsType>(getMore().back().getType()))
    return Value();
  return getMore().back();
}

ResultRange VerifyOp::getYielded() {
  return getRows() ? getResults().drop_back() : getResults();
}

/// Checks verify_c4.
static LogicalResult verifyTaps(VerifyOp op) {
  for (Value tap : op.getYielded().drop_front(2)) {
    if (isa<RowsType>(tap.getType()))
      return op.emitOpError("expected the rows as the last result");
    if (failed(staticWidth(op, "a tap", tap)) ||
        failed(expectRows(op, "a tap", tap, op.getLogits())))
      return failure();
  }
  return success();
}

LogicalResult VerifyOp::verify() {
  if (failed(verifyTaps(*this)) ||
      failed(staticWidth(*this, "the logits", getLogits())) ||
      failed(staticWidth(*this, "the hidden state", getHidden())) ||
      failed(expectRows(*this, "a hidden state", getHidden(), getLogits()))) {
    return failure();
  }
  return verifyTreeOfDrafts(*this); // verify_c3
}

LogicalResult VerifyOp::verifyRegions() {
  Type rows = RowsType::get(getContext());
  if (failed(expectArguments(*this, getBodyRegion(),
                             {tokensFor(getLogits()), rows}, // verify_c1
                             "the target"))) {
    return failure();
  }
  return expectYield(*this, getBodyRegion(), // verify_c2
                     getYielded().getTypes());
}

//===----------------------------------------------------------------------===//
// accept
//===----------------------------------------------------------------------===//

SmallVector<RuleArgument> AcceptOp::getRuleArguments() {
  SmallVector<RuleArgument> arguments;
  if (ArrayAttr names = getRuleArgsAttr())
    for (auto name : names.getAsRange<RuleArgumentAttr>())
      arguments.push_back(name.getValue());
  return arguments;
}

/// Checks accept_c4.
static LogicalResult verifyRule(AcceptOp op) {
  bool hasRule = !op.getRuleRegion().empty();
  if (hasRule != (op.getRule() == AcceptRule::Custom) ||
      hasRule != bool(op.getRuleArgsAttr()))
    return op.emitOpError("expected a rule with custom, and none without");
  if (hasRule && !op.getDrafts())
    return op.emitOpError("expected drafts with a rule");
  if (op.ruleSees(RuleArgument::DraftLogits) != bool(op.getDraftLogits()))
    return op.emitOpError("expected draft logits where the rule sees them, and "
                          "none where it does not");
  return success();
}

LogicalResult AcceptOp::verify() {
  if (getPath() && getDrafts() && !isTree()) // accept_c3
    return emitOpError("expected a tree where there is a path");
  if (failed(verifyRule(*this)))
    return failure();
  return verifyTreeOfDrafts(*this);
}

/// Returns the type of an argument of the rule. The number of elements per slot
/// is open.
static Type ruleArgumentType(AcceptOp op, RuleArgument argument) {
  constexpr int64_t kAny = ShapedType::kDynamic;
  Type i32 = IntegerType::get(op.getContext(), 32);
  auto logits = cast<RankedTensorType>(op.getLogits().getType());
  switch (argument) {
  case RuleArgument::Slots:
    return RankedTensorType::get({kAny}, i32);
  case RuleArgument::Rows:
    return RowsType::get(op.getContext());
  case RuleArgument::Positions:
  case RuleArgument::Picks:
  case RuleArgument::Drafts:
    return RankedTensorType::get({kAny, kAny}, i32);
  case RuleArgument::Logits:
    return RankedTensorType::get({kAny, kAny, logits.getDimSize(1)},
                                 logits.getElementType());
  case RuleArgument::DraftLogits:
    return RankedTensorType::get({kAny, kAny, widthOf(op.getDraftLogits())},
                                 logits.getElementType());
  }
  llvm_unreachable("unknown argument of a rule");
}

/// Returns whether `type` is `wanted`, or also fixes the second extent, which
/// follows from k.
static bool fitsRule(Type type, Type wanted) {
  if (type == wanted)
    return true;
  auto own = dyn_cast<RankedTensorType>(type);
  auto open = dyn_cast<RankedTensorType>(wanted);
  if (!own || !open || own.getRank() != open.getRank() || own.getRank() < 2)
    return false;
  SmallVector<int64_t> shape(own.getShape());
  shape[1] = ShapedType::kDynamic;
  return own.clone(shape) == open;
}

/// Checks accept_c5.
static LogicalResult verifyRuleRegion(AcceptOp op) {
  Region &rule = op.getRuleRegion();
  if (rule.empty())
    return success();
  SmallVector<RuleArgument> names = op.getRuleArguments();
  SmallVector<Type> wanted;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (llvm::is_contained(ArrayRef(names).take_front(i), name))
      return op.emitOpError("expected the rule to name ")
             << stringifyRuleArgument(name) << " once";
    wanted.push_back(ruleArgumentType(op, name));
  }
  if (!llvm::equal(rule.getArgumentTypes(), wanted, fitsRule))
    return op.emitOpError("expected the rule to take (")
           << TypeRange(wanted) << "), got ("
           << TypeRange(rule.getArgumentTypes()) << ")";
  Type i32 = IntegerType::get(op.getContext(), 32);
  constexpr int64_t kAny = ShapedType::kDynamic;
  Type count = RankedTensorType::get({kAny}, i32);
  Type grid = RankedTensorType::get({kAny, kAny}, i32);
  SmallVector<Type> results{count, grid};
  if (op.isTree())
    results.push_back(grid);
  auto yield = dyn_cast<YieldOp>(rule.front().getTerminator());
  if (yield && (llvm::equal(yield.getValues().getTypes(), results, fitsRule) ||
                (!op.getTree() && llvm::equal(yield.getValues().getTypes(),
                                              ArrayRef({count, count})))))
    return success();
  return op.emitOpError("expected the rule to yield (")
         << TypeRange(results) << ")";
}

/// Checks accept_c1: the region takes logits and rows, and optionally the slots
/// and the tokens that lead to each row.
static LogicalResult verifyPickArguments(AcceptOp op) {
  Region &region = op.getBodyRegion();
  SmallVector<Type> types{op.getLogits().getType(),
                          RowsType::get(op.getContext())};
  if (op.seesPaths()) {
    types.push_back(tokensFor(op.getLogits()));
    // The number of tokens that lead to a row follows from k.
    auto path = dyn_cast<RankedTensorType>(region.getArgument(3).getType());
    int64_t most =
        path && path.getRank() == 2 ? path.getDimSize(1) : ShapedType::kDynamic;
    types.push_back(RankedTensorType::get(
        {cast<RankedTensorType>(types[2]).getDimSize(0), most},
        IntegerType::get(op.getContext(), 32)));
  }
  return expectArguments(op, region, types, "the region");
}

LogicalResult AcceptOp::verifyRegions() {
  if (failed(verifyPickArguments(*this)))
    return failure();
  if (failed(expectYield(*this, getBodyRegion(),
                         tokensFor(getLogits())))) // accept_c2
    return failure();
  return verifyRuleRegion(*this);
}

LogicalResult AcceptTokensOp::verify() {
  FailureOr<int64_t> drafts = staticWidth(*this, "the drafts", getDrafts());
  if (failed(drafts) || failed(expectWidth(*this, "the picks", getPicks(),
                                           *drafts + 1))) { // accept_tokens_c1
    return failure();
  }
  for (Value value : {getPicks(), getCount(), getNext()}) // accept_tokens_c2
    if (failed(expectRows(*this, "operands and results", value, getDrafts())))
      return failure();
  return success();
}

LogicalResult AcceptTreeOp::verify() {
  if (failed(verifyParents(*this, getParents()))) // accept_tree_c1
    return failure();
  int64_t nodes = getParents().size();
  for (Value value : {getTokens(), getPicks(), getPath()}) { // accept_tree_c2
    if (failed(expectWidth(*this, "tokens, picks and path", value, nodes)) ||
        failed(expectRows(*this, "operands and results", value, getTokens()))) {
      return failure();
    }
  }
  for (Value value : {getCount(), getNext()})
    if (failed(expectRows(*this, "operands and results", value, getTokens())))
      return failure();
  return success();
}
