//===- MTPRoundOp.cpp - Verifier of the round -----------------------------===//
//
// What no operation of a round can see by itself: that its parts are there, in
// order, and fit each other and the envelope.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// The parts of a round in the order in which they must stand.
struct RoundParts {
  Operation *draft = nullptr; // optional
  VerifyOp verify;
  AcceptOp accept;
  CommitOp commit;
};
} // namespace

LogicalResult RoundOp::verify() {
  auto module = cast<ModuleOp>((*this)->getParentOp());
  if (*module.getOps<RoundOp>().begin() != *this) { // round_c1
    return emitOpError("expected exactly one round in a module");
  }
  if (!module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr)) { // round_c1
    return emitOpError("expected 'mtp.envelope' on the module");
  }
  return success();
}

/// round_c2: which parts there are, each after the one before it.
static FailureOr<RoundParts> collectParts(RoundOp round) {
  RoundParts parts;
  int stage = 0; // how many of draft, verify, accept and commit are passed
  auto advance = [&](Operation &op, int next) -> LogicalResult {
    if (stage >= next) {
      return op.emitOpError("expected once, in the order draft, verify, "
                            "accept, commit");
    }
    stage = next;
    return success();
  };
  for (Operation &op : *round.getBody()) {
    LogicalResult placed = success();
    if (isa<DraftChainOp, DraftTreeOp>(op)) {
      parts.draft = &op;
      placed = advance(op, 1);
    } else if (auto verify = dyn_cast<VerifyOp>(op)) {
      parts.verify = verify;
      placed = advance(op, 2);
    } else if (auto accept = dyn_cast<AcceptOp>(op)) {
      parts.accept = accept;
      placed = advance(op, 3);
    } else if (auto commit = dyn_cast<CommitOp>(op)) {
      parts.commit = commit;
      placed = advance(op, 4);
    }
    if (failed(placed)) {
      return failure();
    }
  }
  if (!parts.verify || !parts.accept || !parts.commit) {
    round.emitOpError("expected a verify, an accept and a commit");
    return failure();
  }
  return parts;
}

/// round_c3: the values that go from part to part.
static LogicalResult verifyDataflow(const RoundParts &parts) {
  Value drafts = parts.draft ? parts.draft->getResult(0) : Value();
  VerifyOp verify = parts.verify;
  AcceptOp accept = parts.accept;
  CommitOp commit = parts.commit;
  if (verify.getDrafts() != drafts) {
    return verify.emitOpError("expected the round's drafts");
  }
  if (accept.getDrafts() != drafts) {
    return accept.emitOpError("expected the round's drafts");
  }
  if (accept.getLogits() != verify.getLogits()) {
    return accept.emitOpError("expected the logits of mtp.verify");
  }
  if (commit.getCount() != accept.getCount() ||
      commit.getPicks() != accept.getPicks() ||
      commit.getHidden() != verify.getHidden()) {
    return commit.emitOpError("expected count and picks of mtp.accept and the "
                              "hidden state of mtp.verify");
  }
  return success();
}

/// round_c4: one hidden width and one vocabulary for drafter and target.
static LogicalResult verifyWidths(const RoundParts &parts) {
  VerifyOp verify = parts.verify;
  for (Region &step : parts.draft->getRegions()) {
    int64_t hidden = widthOf(step.getArgument(1));
    int64_t vocabulary = widthOf(step.front().getTerminator()->getOperand(0));
    if (hidden == widthOf(verify.getHidden()) &&
        vocabulary == widthOf(verify.getLogits())) {
      continue;
    }
    InFlightDiagnostic diag =
        parts.draft->emitOpError("expected the target's hidden width ")
        << widthOf(verify.getHidden()) << " and vocabulary "
        << widthOf(verify.getLogits()) << ", got " << hidden << " and "
        << vocabulary;
    diag.attachNote(verify.getLoc()) << "the target is here";
    return diag;
  }
  return success();
}

/// round_c5: the tree of the drafts is the one verified and accepted.
static LogicalResult verifyTree(const RoundParts &parts) {
  std::optional<ArrayRef<int64_t>> parents;
  if (auto tree = dyn_cast_or_null<DraftTreeOp>(parts.draft)) {
    parents = tree.getParents();
  }
  VerifyOp verify = parts.verify;
  AcceptOp accept = parts.accept;
  if (verify.getTree() != parents) {
    return verify.emitOpError("expected the tree of the drafts");
  }
  if (accept.getTree() != parents) {
    return accept.emitOpError("expected the tree of the drafts");
  }
  return success();
}

/// round_c6: the envelope leaves room for what is drafted.
static LogicalResult verifyEnvelope(RoundOp round, const RoundParts &parts) {
  auto envelope =
      round->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!envelope) {
    return success(); // reported by round_c1
  }
  int64_t maxK = envelope.getMaxK();
  if (!parts.draft) {
    return maxK == 0 ? success()
                     : round.emitOpError("expected max_k 0 without a draft "
                                         "operation, got ")
                           << maxK;
  }
  int64_t modules = parts.draft->getNumRegions();
  if (modules > maxK) {
    return round.emitOpError("expected at most max_k = ")
           << maxK << " draft modules, got " << modules;
  }
  auto tree = dyn_cast<DraftTreeOp>(parts.draft);
  int64_t nodes = tree ? tree.getParents().size() : 0;
  if (nodes > maxK + 1) {
    return round.emitOpError("expected at most max_k + 1 = ")
           << maxK + 1 << " tree nodes, got " << nodes;
  }
  return success();
}

LogicalResult RoundOp::verifyRegions() {
  FailureOr<RoundParts> parts = collectParts(*this);
  if (failed(parts) || failed(verifyDataflow(*parts)) ||
      failed(verifyTree(*parts)) || failed(verifyEnvelope(*this, *parts))) {
    return failure();
  }
  return parts->draft ? verifyWidths(*parts) : success();
}
