//===- ExpandVerify.cpp - mtp.verify as core ops --------------------------===//
//
// In a round the target's rows are the anchor and the drafts, at positions n to
// n + k; in a prefill they are the chunk's.
//
// Where k changes no output, a slot may draft less than its round: the host
// writes how much into the state `draft_limit`, and drafts behind it are none
// from here on.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDVERIFYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct ExpandVerifyPass
    : public mlir::mtp::impl::ExpandVerifyPassBase<ExpandVerifyPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The rows that the target runs over, and of each slot the drafts within its
/// limit and how many of them could be accepted; null where there are none.
struct TargetRows {
  Value tokens, rows, drafts, drafted;
};
} // namespace

/// Whether a slot may draft less than its round: where the rule is exact, and
/// accepts the drafts that are verified. A host that finds no `draft_limit`
/// runs each request in rounds of its own k.
static bool isLimited(VerifyOp op) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  return op.getDrafts() && !accepts.empty() &&
         !op->getParentOfType<ModuleOp>()->hasAttr(kCustomRuleAttr) &&
         llvm::all_of(accepts, [&](AcceptOp accept) {
           return accept.getRule() == AcceptRule::Exact &&
                  accept.getDrafts() == op.getDrafts();
         });
}

/// The drafts of a slot before its limit; -1 in place of the others.
static Value limitDrafts(SlotBody &body, int64_t k, Value drafts) {
  Value limit = body.load(states::kDraftLimit), none = body.constant(-1);
  return body.vector(k, [&](Value draft) {
    return body.select(body.compare(Predicate::slt, draft, limit),
                       body.element(drafts, draft), none);
  });
}

/// How many of a chain's drafts are tokens, up to the first that is none: what
/// is behind it cannot be accepted.
static Value countDrafts(SlotBody &body, int64_t k, Value drafts) {
  Value longest = body.constant(0), none = body.constant(-1), above = longest;
  for (int64_t draft = 0; draft < k; ++draft) {
    Value isDraft =
        body.both(body.compare(Predicate::sge, body.element(drafts, draft), 0),
                  body.compare(Predicate::sge, above, 0));
    above = body.select(isDraft, body.add(above, 1), none);
    longest = body.max(longest, above);
  }
  return longest;
}

/// The same of the longest path of a tree.
static Value countNodes(SlotBody &body, int64_t k, Value parents,
                        Value drafts) {
  return walkNodes(body, k + 1, parents,
                   [&](Value node, Value) {
                     return body.compare(
                         Predicate::sge,
                         body.element(drafts, body.sub(node, 1)), 0);
                   })
      .longest;
}

/// The rows of a round. Where its tree is static, `tree` are its nodes'
/// parents; of a chain there are none.
static TargetRows writeWindow(Expansion &e, VerifyOp op,
                              ArrayRef<int64_t> tree) {
  for (llvm::StringRef state :
       {states::kLength, states::kAccepted, states::kWindow})
    useState(e.module, state);
  int64_t k = *e.roundK();
  bool limits = isLimited(op);
  if (limits)
    useState(e.module, states::kDraftLimit);
  Value drafts = op.getDrafts();
  SmallVector<Value> inputs;
  for (Value input : {drafts, Value(op.getParents())})
    if (input)
      inputs.push_back(input);
  SlotBody body(e.builder, e.loc, "window", e.slots(), inputs);
  Value n = body.load(states::kLength), own;
  if (drafts)
    own = limits ? limitDrafts(body, k, body.input(0)) : body.input(0);
  SmallVector<Value> tokens{
      body.load(states::kWindow, body.load(states::kAccepted))};
  for (int64_t draft = 0; draft < k; ++draft)
    tokens.push_back(body.element(own, draft));
  SmallVector<Value> window{
      body.vector(tokens),
      body.vector(k + 1, [&](Value) { return body.slot(); }),
      body.vector(k + 1, [&](Value row) { return body.add(n, row); })};
  if (op.getParents() || !tree.empty())
    window.push_back(countNodes(
        body, k, op.getParents() ? body.input(1) : parentsOf(body, tree), own));
  else if (drafts)
    window.push_back(countDrafts(body, k, own));
  if (limits)
    window.push_back(own);
  ValueRange made = body.yield(window);
  return {e.byRow(made[0]), e.makeRows(e.byRow(made[1]), e.byRow(made[2])),
          limits ? made[4] : drafts, drafts ? made[3] : Value()};
}

static LogicalResult expand(VerifyOp op) {
  Expansion e(op);
  TargetRows target;
  if (e.isPrefill()) {
    auto type =
        cast<RankedTensorType>(op.getBodyRegion().getArgument(0).getType());
    auto prompt = PromptRowsOp::create(e.builder, e.loc, type,
                                       RowsType::get(op.getContext()));
    target = {prompt.getTokens(), prompt.getRows(), {}, {}};
  } else {
    int64_t k = *e.roundK();
    if (failed(
            checkDrafts(op, k, op.getDrafts(), op.getTree(), op.getParents())))
      return failure();
    // A smaller k is the first nodes: parents come before their children.
    ArrayRef<int64_t> tree;
    if (op.getTree())
      tree = op.getTree()->take_front(k + 1);
    target = writeWindow(e, op, tree);
    for (auto accept : op->getBlock()->getOps<AcceptOp>())
      if (op.getDrafts() && accept.getDrafts() == op.getDrafts())
        accept.getDraftsMutable().assign(target.drafts);
    e.output("tokens", target.tokens);
    if (target.drafted)
      e.output(kDraftedOutput, target.drafted);
    if (op.getTree() || op.getParents())
      target.rows =
          TreeRowsOp::create(e.builder, e.loc, target.rows, op.getParents(),
                             op.getTree() ? e.builder.getDenseI64ArrayAttr(tree)
                                          : DenseI64ArrayAttr());
  }
  SmallVector<Value> results =
      e.inlineRegion(op.getBodyRegion(), {target.tokens, target.rows});
  if (!e.isPrefill())
    e.output("logits", results[0]);
  if (op.getRows())
    results.push_back(target.rows);
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

void ExpandVerifyPass::runOnOperation() {
  if (failed(expandInstantiated<VerifyOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
