//===- ExpandVerify.cpp - mtp.verify as core ops --------------------------===//
//
// In a round the target's rows are the anchor and the drafts, at positions n to
// n + k; in a prefill they are the chunk's.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDVERIFYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandVerifyPass
    : public mtp::impl::ExpandVerifyPassBase<ExpandVerifyPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The rows that the target runs over.
struct TargetRows {
  Value tokens, rows;
};
} // namespace

static TargetRows writeWindow(Expansion &e, Value drafts) {
  for (llvm::StringRef state :
       {states::kLength, states::kAccepted, states::kWindow})
    useState(e.module, state);
  int64_t k = *e.roundK();
  SlotBody body(e.builder, e.loc, "window", e.slots(),
                drafts ? ValueRange(drafts) : ValueRange());
  Value n = body.load(states::kLength);
  SmallVector<Value> tokens{
      body.load(states::kWindow, body.load(states::kAccepted))};
  for (int64_t draft = 0; draft < k; ++draft)
    tokens.push_back(body.element(body.input(0), draft));
  ValueRange window = body.yield(
      {body.vector(tokens),
       body.vector(k + 1, [&](Value) { return body.slot(); }),
       body.vector(k + 1, [&](Value row) { return body.add(n, row); })});
  return {e.byRow(window[0]),
          e.makeRows(e.byRow(window[1]), e.byRow(window[2]))};
}

static LogicalResult expand(VerifyOp op) {
  Expansion e(op);
  Value drafts = op.getDrafts();
  TargetRows target;
  if (e.isPrefill()) {
    auto type =
        cast<RankedTensorType>(op.getBodyRegion().getArgument(0).getType());
    auto prompt = PromptRowsOp::create(e.builder, e.loc, type,
                                       RowsType::get(op.getContext()));
    target = {prompt.getTokens(), prompt.getRows()};
  } else {
    int64_t k = *e.roundK();
    if (failed(checkDrafts(op, k, drafts, op.getTree())))
      return failure();
    target = writeWindow(e, drafts);
    e.output("tokens", target.tokens);
    // A smaller k is the first nodes: parents come before their children.
    if (op.getTree())
      target.rows = TreeRowsOp::create(e.builder, e.loc, target.rows,
                                       op.getTree()->take_front(k + 1));
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
  SmallVector<VerifyOp> ops;
  getOperation().walk([&](VerifyOp op) { ops.push_back(op); });
  for (VerifyOp op : ops) {
    if (failed(checkInstantiated(op)) || failed(expand(op)))
      return signalPassFailure();
    ++numExpanded;
  }
}
