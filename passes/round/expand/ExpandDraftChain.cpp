//===- ExpandDraftChain.cpp - mtp.draft_chain as core ops -----------------===//
//
// The refreshed modules give the first drafts. For deeper drafts the last
// module runs again, one row per slot, on its own hidden state and the draft
// before.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Passes.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/EndingChain.h"
#include "passes/round/Refresh.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDDRAFTCHAINPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandDraftChainPass
    : public mlir::mtp::impl::ExpandDraftChainPassBase<ExpandDraftChainPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registry.insert<math::MathDialect>();
  }
  void runOnOperation() override;
};
} // namespace

/// Returns the region that transforms the target's hidden states; null if there
/// is none.
static Region *inputOf(DraftChainOp op) {
  return op.getInputRegion().empty() ? nullptr : &op.getInputRegion();
}

/// Writes the positions at which each draft will be verified, and at which
/// deeper steps run.
static SmallVector<Value> writePlaces(Refresh &refresh, int64_t k,
                                      int64_t modules) {
  return refresh.writePlaces([&](SlotBody &body, Value n) {
    SmallVector<Value> positions;
    for (int64_t d = 1; d <= k; ++d)
      positions.push_back(body.add(n, d - 1));
    for (int64_t d = modules + 1; d <= k; ++d)
      positions.push_back(body.add(n, d - modules - refresh.takesHidden()));
    return positions;
  });
}

/// Expands a chain in a round. The accept op's region picks a draft exactly as
/// the target's row at its place will pick: for the same slot and position, and
/// so with the same parameters and noise. Returns all drafts of a slot, and the
/// logits of each if an op reads them.
static FailureOr<SmallVector<Value>> expandInRound(DraftChainOp op) {
  Expansion e(op);
  SmallVector<Region *> steps =
      llvm::to_vector(llvm::make_pointer_range(op.getSteps()));
  int64_t k = *e.roundK(), modules = steps.size();
  int64_t refreshed = std::min(k, modules);
  Refresh refresh(e, steps, refreshed, /*most=*/k, inputOf(op));
  SmallVector<Value> places = writePlaces(refresh, k, modules);
  SmallVector<Value> drafts;
  auto sideBySide = [&]() -> Value {
    SlotBody body(e.builder, e.loc, "drafts", e.slots(), drafts);
    SmallVector<Value> own;
    for (size_t i = 0; i < drafts.size(); ++i)
      own.push_back(body.input(i));
    return body.yield(body.vector(own)).front();
  };
  SmallVector<std::pair<Value, int64_t>> draftLogits;
  ModuleOutputs last;
  for (int64_t d = 1; d <= k; ++d) {
    Value logits;
    if (d <= modules) {
      last = refresh.run(d, last.hidden, drafts);
      logits = e.gatherRows(last.logits, refresh.anchor(d));
      if (last.hidden && d == refreshed && k > modules)
        last.hidden = e.gatherRows(last.hidden, refresh.anchor(d));
    } else {
      last = refresh.step(modules, drafts.back(), last.hidden,
                          e.makeRows(e.slots(), places[k + d - modules - 1]));
      logits = last.logits;
    }
    FailureOr<Value> draft =
        e.pick(logits,
               {e.makeRows(e.slots(), places[d - 1]),
                {d - 1},
                sideBySide,
                {llvm::to_vector(llvm::seq<int64_t>(0, d - 1))}},
               op.getVocabularyAttr());
    if (failed(draft))
      return failure();
    drafts.push_back(*draft);
    draftLogits.push_back({logits, 1});
  }
  SmallVector<Value> results{sideBySide()};
  if (op.getDraftLogits())
    results.push_back(op.getDraftLogits().use_empty()
                          ? Value()
                          : e.bySlot(e.concatRows(draftLogits), k));
  return results;
}

static LogicalResult expand(DraftChainOp op) {
  if (isa<PrefillOp>(op->getParentOp()))
    return expandDraftPrefill(
        op, llvm::to_vector(llvm::make_pointer_range(op.getSteps())),
        inputOf(op));
  FailureOr<SmallVector<Value>> results =
      mayEnd(op) ? writeEndingChain(op, inputOf(op)) : expandInRound(op);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    result.replaceAllUsesWith(value);
  op.erase();
  return success();
}

void ExpandDraftChainPass::runOnOperation() {
  if (failed(expandInstantiated<DraftChainOp>(getOperation(), numExpanded,
                                              expand)))
    signalPassFailure();
}
