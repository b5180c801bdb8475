//===- ExpandAccept.cpp - mtp.accept as core ops --------------------------===//
//
// The region picks tokens. The walk along the picks is a body per slot, or the
// op's rule. In a prefill the region picks for the last row of each sequence,
// and there is no walk.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/RuleAttrs.h"
#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/RoundExpansion.h"
#include "passes/support/PackedRows.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDACCEPTPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct ExpandAcceptPass
    : public mlir::mtp::impl::ExpandAcceptPassBase<ExpandAcceptPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Returns whether a draft equals the pick. A padding row has neither: both are
/// -1.
static Value isPick(SlotBody &body, Value draft, Value pick) {
  return body.both(body.compare(Predicate::eq, draft, pick),
                   body.compare(Predicate::sge, draft, 0));
}

/// Returns the number of leading drafts that equal the picks.
static Value walkChain(SlotBody &body, int64_t k, Value picks, Value drafts) {
  Value zero = body.constant(0), one = body.constant(1);
  auto step = [&](Value j, ValueRange carried) -> SmallVector<Value> {
    Value equal = isPick(body, body.element(drafts, j), body.element(picks, j));
    Value agrees = body.select(equal, carried[1], zero);
    return {body.add(carried[0], agrees), agrees};
  };
  return body.repeat(k, {zero, one}, step)[0];
}

/// Returns the longest path of nodes from node 0 on, at most `most` deep, on
/// which every node carries the pick of its parent, and its length without node
/// 0. The first of `tokens` belongs to node `firstNode`.
static std::pair<Value, Value> walkTree(SlotBody &body, int64_t nodes,
                                        int64_t most, Value parents,
                                        Value picks, Value tokens,
                                        int64_t firstNode) {
  auto stays = [&](Value node, Value parent) {
    return isPick(body, body.element(tokens, body.sub(node, firstNode)),
                  body.element(picks, parent));
  };
  Value limit = most + 1 < nodes ? body.constant(most) : Value();
  NodeWalk walk = walkNodes(body, nodes, parents, stays, limit);
  return {pathOf(body, most + 1, parents, walk), walk.longest};
}

/// Returns the picks along the path: the tokens of the output.
static Value picksAlong(SlotBody &body, int64_t length, Value path,
                        Value picks) {
  return body.vector(length, [&](Value place) {
    return body.element(picks, body.element(path, place));
  });
}

static void expandTree(Expansion &e, AcceptOp op, Value picks) {
  int64_t nodes = e.roundNodes(), k = *e.roundK();
  SmallVector<Value> inputs{picks, op.getDrafts()};
  if (op.getParents())
    inputs.push_back(op.getParents());
  SlotBody body(e.builder, e.loc, "accept", e.slots(), inputs);
  Value parents = op.getParents()
                      ? body.input(2)
                      : parentsOf(body, op.getTree()->take_front(nodes));
  auto [path, count] = walkTree(body, nodes, k, parents, body.input(0),
                                body.input(1), /*firstNode=*/1);
  Value along = picksAlong(body, k + 1, path, body.input(0));
  op.replaceAllUsesWith(body.yield({count, along, path}));
  op.erase();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Moves packed rows back to their places in the window.
static Value unpacked(Expansion &e, Value rows, Value x) {
  auto pack = rows.getDefiningOp<PackOp>();
  return pack ? UnpackOp::create(e.builder, e.loc, x.getType(), x,
                                 pack.getPlaces())
              : x;
}

/// Returns the positions of the verified rows.
static Value positionsOf(Expansion &e, AcceptOp op) {
  int64_t nodes = e.roundNodes();
  Value rows = windowOf(op.getRows());
  auto tree = rows.getDefiningOp<TreeRowsOp>();
  if (tree)
    rows = tree.getRows();
  auto made = rows.getDefiningOp<MakeRowsOp>();
  if (!made)
    return Value();
  Value places = e.bySlot(made.getPositions(), nodes);
  if (!tree)
    return places;
  // Places are consecutive; positions depend on the depth.
  SmallVector<Value> inputs{places};
  if (tree.getParents())
    inputs.push_back(tree.getParents());
  SlotBody body(e.builder, e.loc, "positions", e.slots(), inputs);
  Value root = body.element(body.input(0), 0);
  if (!tree.getParents()) {
    SmallVector<Value> positions;
    for (int64_t depth : nodeDepths(*tree.getTree()))
      positions.push_back(body.add(root, depth));
    return body.yield(body.vector(positions)).front();
  }
  Value depths = activeNodes(body, nodes, body.input(1)).depths;
  Value positions = body.vector(nodes, [&](Value node) {
    Value depth = body.element(depths, node);
    return body.select(body.compare(Predicate::sge, depth, 0),
                       body.add(root, depth), body.constant(-1));
  });
  return body.yield(positions).front();
}

/// Returns the value of a rule's argument; null, after an error, if it is
/// unknown.
static Value ruleArgument(Expansion &e, AcceptOp op, RuleArgument name,
                          Value picks) {
  switch (name) {
  case RuleArgument::Slots:
    return e.slots();
  case RuleArgument::Rows:
    return windowOf(op.getRows());
  case RuleArgument::Picks:
    return picks;
  case RuleArgument::Drafts:
    return op.getDrafts();
  case RuleArgument::Logits:
    return e.bySlot(unpacked(e, op.getRows(), op.getLogits()), e.roundNodes());
  case RuleArgument::DraftLogits:
    return op.getDraftLogits();
  case RuleArgument::Positions:
    if (Value positions = positionsOf(e, op))
      return positions;
    op.emitOpError("expected rows that mtp.make_rows made, whose positions the "
                   "rule sees");
    return Value();
  }
  llvm_unreachable("unknown argument of a rule");
}

/// Inlines the rule and returns its results: a count, tokens or only the bonus
/// token, and the path of a tree. Returns nothing, after an error, if their
/// sizes do not fit k.
static SmallVector<Value> inlineRule(Expansion &e, AcceptOp op, Value picks) {
  int64_t k = *e.roundK();
  SmallVector<Value> args;
  for (RuleArgument name : op.getRuleArguments()) {
    args.push_back(ruleArgument(e, op, name, picks));
    if (!args.back())
      return {};
  }
  // Kernels are named after their purpose.
  op.getRuleRegion().walk([&](PerSlotOp body) {
    if (!bodyName(body))
      body->setLoc(renamed(body.getLoc(), e.builder.getStringAttr("rule")));
  });
  SmallVector<Value> decided = e.inlineRegion(op.getRuleRegion(), args);
  for (Value grid : ArrayRef(decided).drop_front()) {
    auto type = cast<RankedTensorType>(grid.getType());
    if (type.getRank() == 1 || type.getDimSize(1) == k + 1)
      continue;
    op.emitOpError("expected the rule to yield ")
        << k + 1 << " tokens and nodes per slot, got " << type;
    return {};
  }
  return decided;
}

/// Returns how many of the drafts that a rule keeps are tokens, up to the first
/// that is none, for which nothing was computed. `path` holds their nodes in a
/// tree.
static Value keptDrafts(SlotBody &body, int64_t k, Value count, Value drafts,
                        Value path) {
  int64_t last = widthOf(drafts) - 1;
  Value kept = body.constant(0), goesOn = body.compare(Predicate::sge, kept, 0);
  for (int64_t place = 0; place < k; ++place) {
    Value draft = body.constant(place);
    if (path)
      draft = body.sub(body.element(path, place + 1), 1);
    Value isKept = body.compare(Predicate::sgt, count, place);
    Value isNode = body.compare(Predicate::sge, draft, 0);
    Value at = body.min(body.max(draft, body.constant(0)), body.constant(last));
    Value isToken = body.compare(Predicate::sge, body.element(drafts, at), 0);
    goesOn = body.both(goesOn, body.both(isKept, body.both(isNode, isToken)));
    kept = body.select(goesOn, body.constant(place + 1), kept);
  }
  return kept;
}

/// Records in the module that a custom rule accepts drafts, and which.
static void recordRule(Expansion &e, AcceptOp op) {
  useState(e.module, states::kKnown); // for the commit of a prefill
  e.module->setAttr(kCustomRuleAttr, e.builder.getUnitAttr());
  for (llvm::StringRef name : {kRuleAttr, kLossyAttr})
    if (Attribute says = op->getAttr(name))
      e.module->setAttr(name, says);
}

/// Returns the decision of the rule in the form of a walk's. A rule may yield
/// any numbers; they are clamped, since later ops rely on numbers in range. If
/// no token can be picked after the last kept draft, the token there is -1.
static LogicalResult expandRule(Expansion &e, AcceptOp op, Value picks) {
  int64_t k = *e.roundK(), lastNode = e.roundNodes() - 1;
  int64_t vocabulary = widthOf(op.getLogits());
  recordRule(e, op);
  SmallVector<Value> decided = inlineRule(e, op, picks);
  if (decided.empty())
    return failure();
  bool hasPath = decided.size() > 2;
  bool isBonusAlone =
      cast<RankedTensorType>(decided[1].getType()).getRank() == 1;
  decided.append({op.getDrafts(), picks});
  SlotBody body(e.builder, e.loc, "accept", e.slots(), decided);
  Value drafts = body.input(decided.size() - 2);
  auto within = [&](Value value, int64_t least, int64_t most) {
    return body.max(body.min(value, body.constant(most)), body.constant(least));
  };
  Value count = keptDrafts(body, k, body.input(0), drafts,
                           hasPath ? body.input(2) : Value());
  auto tokenAt = [&](Value place) {
    if (!isBonusAlone)
      return body.element(body.input(1), place);
    Value isDraft = body.compare(Predicate::slt, place, count);
    return body.select(isDraft, body.element(drafts, place), body.input(1));
  };
  auto nodeAt = [&](Value place) {
    if (!hasPath)
      return place;
    Value node = within(body.element(body.input(2), place), 0, lastNode);
    Value isRoot = body.compare(Predicate::eq, place, 0);
    return body.select(isRoot, body.constant(0), node);
  };
  Value none = body.constant(-1);
  Value pick = body.element(body.input(decided.size() - 1), nodeAt(count));
  Value hasEnd = body.compare(Predicate::slt, pick, 0);
  SmallVector<Value> results{
      count, body.vector(k + 1, [&](Value place) {
        Value isEnd =
            body.both(hasEnd, body.compare(Predicate::sge, place, count));
        return body.select(isEnd, none,
                           within(tokenAt(place), 0, vocabulary - 1));
      })};
  if (hasPath)
    results.push_back(body.vector(k + 1, [&](Value place) {
      Value isOn = body.compare(Predicate::sle, place, count);
      return body.select(isOn, nodeAt(place), none);
    }));
  op.replaceAllUsesWith(body.yield(results));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Returns the verified rows and the drafts on the path to each.
static PickedRows rowsOfWindow(AcceptOp op, int64_t nodes) {
  PickedRows rows{op.getRows(), {}, nullptr, {}};
  for (int64_t node = 0; node < nodes; ++node) {
    rows.nodes.push_back(node);
    SmallVector<int64_t> path;
    for (int64_t above = node; above > 0;
         above = op.getTree() ? (*op.getTree())[above] : above - 1)
      path.insert(path.begin(), above - 1);
    rows.paths.push_back(path);
  }
  return rows;
}

static LogicalResult expandInRound(AcceptOp op) {
  Expansion e(op);
  int64_t k = *e.roundK();
  int64_t nodes = e.roundNodes();
  if (failed(checkDrafts(op, e, op.getDrafts(), op.getTree(), op.getParents())))
    return failure();
  if (failed(checkRegion(op, nodes)))
    return failure();
  PickedRows rows = rowsOfWindow(op, nodes);
  op.getBodyRegion().walk([&](SampleOp sample) {
    sample->setAttr(kPicksWindowAttr, e.builder.getUnitAttr());
  });
  auto drafts = [&] { return op.getDrafts(); };
  rows.drafts = drafts;
  Value picked = e.inlineRegion(op.getBodyRegion(),
                                e.pickArguments(op, op.getLogits(), rows))[0];
  picked = unpacked(e, op.getRows(), picked);
  e.output("picks", picked);
  Value picks = e.bySlot(picked, nodes);
  if (op.getRule() == AcceptRule::Custom)
    return expandRule(e, op, picks);
  if (op.isTree()) {
    expandTree(e, op, picks);
    return success();
  }
  SmallVector<Value> inputs{picks};
  if (k > 0)
    inputs.push_back(op.getDrafts());
  SlotBody body(e.builder, e.loc, "accept", e.slots(), inputs);
  Value count = k > 0 ? walkChain(body, k, body.input(0), body.input(1))
                      : body.constant(0);
  SmallVector<Value> own{count};
  if (op.getPath()) // without drafts the path is node 0
    own.push_back(body.vector(body.constant(0)));
  ValueRange results = body.yield(own);
  SmallVector<Value> all{results.front(), picks};
  llvm::append_range(all, results.drop_front());
  op.replaceAllUsesWith(all);
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The walks as functions
//===----------------------------------------------------------------------===//

/// Returns indices to run over the rows of `grid`; no body reads a slot.
static Value rowsOf(OpBuilder &builder, Location loc, Value grid) {
  int64_t rows = cast<RankedTensorType>(grid.getType()).getDimSize(0);
  auto type = RankedTensorType::get({rows}, builder.getI32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, builder.getI32IntegerAttr(0)));
}

static void expandFunction(AcceptTokensOp op) {
  OpBuilder builder(op);
  SlotBody body(builder, op.getLoc(), "accept",
                rowsOf(builder, op.getLoc(), op.getDrafts()),
                {op.getPicks(), op.getDrafts()});
  Value count =
      walkChain(body, widthOf(op.getDrafts()), body.input(0), body.input(1));
  op.replaceAllUsesWith(
      body.yield({count, body.element(body.input(0), count)}));
  op.erase();
}

static void expandFunction(AcceptTreeOp op) {
  OpBuilder builder(op);
  SlotBody body(builder, op.getLoc(), "accept",
                rowsOf(builder, op.getLoc(), op.getTokens()),
                {op.getPicks(), op.getTokens()});
  // The first token is node 0's.
  int64_t nodes = op.getParents().size();
  auto [path, count] =
      walkTree(body, nodes, nodes - 1, parentsOf(body, op.getParents()),
               body.input(0), body.input(1), /*firstNode=*/0);
  Value last = body.element(path, count);
  op.replaceAllUsesWith(
      body.yield({path, count, body.element(body.input(0), last)}));
  op.erase();
}

//===----------------------------------------------------------------------===//
// Prefills
//===----------------------------------------------------------------------===//

/// Returns the token of each sequence's last row.
static Value lastTokens(Expansion &e) {
  useState(e.module, states::kPromptTokens, placesAhead(e.module));
  SlotBody body(e.builder, e.loc, "last_tokens", e.slots());
  Value last = body.sub(body.add(sequenceWord(body, SequenceWord::FirstRow),
                                 sequenceWord(body, SequenceWord::Rows)),
                        1);
  return body.yield(body.load(states::kPromptTokens, {body.constant(0), last}))
      .front();
}

/// Picks for the last row of each sequence; there are no drafts.
static void expandInPrefill(AcceptOp op) {
  Expansion e(op);
  useState(e.module, states::kSequences);
  SlotBody body(e.builder, e.loc, "last_rows", e.slots());
  Value before = body.sub(sequenceWord(body, SequenceWord::Rows), 1);
  SmallVector<Value> own{
      body.add(sequenceWord(body, SequenceWord::FirstRow), before),
      body.add(sequenceWord(body, SequenceWord::Start), before),
      body.constant(0)};
  if (op.getPath())
    own.push_back(body.vector(body.constant(0)));
  ValueRange last = body.yield(own);
  // A mixed batch's prefill has the logits of last rows only.
  Value logits = cast<PrefillOp>(op->getParentOp()).getBeside()
                     ? op.getLogits()
                     : e.gatherRows(op.getLogits(), last[0]);
  SmallVector<Value> args{logits, e.makeRows(e.slots(), last[1])};
  if (op.seesPaths()) {
    args.push_back(e.slots());
    args.push_back(e.bySlot(lastTokens(e), 1));
  }
  Value picks = e.inlineRegion(op.getBodyRegion(), args)[0];
  e.output("logits", logits);
  e.output("picks", picks);
  SmallVector<Value> all{last[2], e.bySlot(picks, 1)};
  llvm::append_range(all, last.drop_front(3));
  op.replaceAllUsesWith(all);
  op.erase();
}

static LogicalResult expand(AcceptOp op) {
  if (!op.getRows())
    return op.emitOpError("expected the rows of its logits where these are not "
                          "an mtp.verify's");
  if (!isa<PrefillOp>(op->getParentOp()))
    return expandInRound(op);
  expandInPrefill(op);
  return success();
}

void ExpandAcceptPass::runOnOperation() {
  auto expandAlone = [](auto op) {
    expandFunction(op);
    return success();
  };
  ModuleOp module = getOperation();
  if (failed(expandAll<AcceptTokensOp>(module, numExpanded, expandAlone)) ||
      failed(expandAll<AcceptTreeOp>(module, numExpanded, expandAlone)) ||
      failed(expandInstantiated<AcceptOp>(module, numExpanded, expand)))
    signalPassFailure();
}
