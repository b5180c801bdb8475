//===- MTPRoundOp.cpp - Verifier of the round -----------------------------===//
//
// Checks that no single operation of a round can make: its parts are present,
// in order, and fit each other and the envelope.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// The readable parts of a round, in their required order. Each part may be
/// missing if core ops do its work.
struct RoundParts {
  Operation *draft = nullptr;
  VerifyOp verify;
  AcceptOp accept;
  CommitOp commit;
};
} // namespace

/// Returns the attribute that distinguishes ops of one k.
static Attribute kindOf(RoundOp op) { return op.getPromptsAttr(); }
static Attribute kindOf(PrefillOp op) {
  if (op.getCatchUp())
    return op.getCatchUpAttr();
  return op.getBesideAttr();
}

/// Checks round_c1 and prefill_c1: the module has an envelope, and one op of
/// the kind for each k, or one for all.
template <typename Op>
static LogicalResult verifyOnly(Op op) {
  ModuleOp module = cast<ModuleOp>(op->getParentOp());
  for (Op other : module.template getOps<Op>()) {
    if (other == op)
      break;
    if (!op.getK() || !other.getK() ||
        (*op.getK() == *other.getK() && kindOf(op) == kindOf(other)))
      return op.emitOpError("expected to stand once in a module, or once for "
                            "each k");
  }
  if (!module->template getAttrOfType<EnvelopeAttr>(kEnvelopeAttr))
    return op.emitOpError("expected 'mtp.envelope' on the module");
  return success();
}

LogicalResult RoundOp::verify() { return verifyOnly(*this); }

LogicalResult PrefillOp::verify() {
  std::optional<int64_t> reach = getCatchUp();
  if (reach && (*reach < 1 || *reach > INT32_MAX)) // prefill_c2
    return emitOpError("expected a catch_up of 1 to 2^31 - 1 positions, got ")
           << *reach;
  return verifyOnly(*this);
}

/// Checks round_c2: the parts are in order, each at most once.
static FailureOr<RoundParts> collectParts(RoundOp round) {
  RoundParts parts;
  int stage = 0; // the number of parts passed so far
  bool isCut = false;
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
    if (isa<DraftChainOp, DraftTreeOp, DraftHeadsOp>(op)) {
      parts.draft = &op;
      placed = advance(op, 1);
      if (isCut) // await_host_c1
        return op.emitOpError("expected in front of mtp.await_host");
    } else if (auto verify = dyn_cast<VerifyOp>(op)) {
      parts.verify = verify;
      placed = advance(op, 2);
    } else if (auto accept = dyn_cast<AcceptOp>(op)) {
      parts.accept = accept;
      placed = advance(op, 3);
    } else if (auto commit = dyn_cast<CommitOp>(op)) {
      parts.commit = commit;
      placed = advance(op, 4);
    } else if (isa<AwaitHostOp>(op)) {
      if (isCut || stage > 1) // await_host_c1
        return op.emitOpError("expected once, in front of mtp.verify");
      isCut = true;
    }
    if (failed(placed))
      return failure();
  }
  return parts;
}

/// Checks round_c3: the values that pass between two parts, if both are
/// present.
static LogicalResult verifyDataflow(RoundParts parts) {
  auto [draft, verify, accept, commit] = parts;
  if (draft && verify && !verify.getDrafts())
    return verify.emitOpError("expected drafts, as the round drafts");
  if (verify && accept && accept.getDrafts() != verify.getDrafts())
    return accept.emitOpError("expected the drafts of mtp.verify");
  if (draft && accept && !accept.getDrafts())
    return accept.emitOpError("expected drafts, as the round drafts");
  if (commit && accept &&
      (commit.getCount() != accept.getCount() ||
       commit.getPicks() != accept.getPicks()))
    return commit.emitOpError("expected count and picks of mtp.accept");
  return success();
}

/// Returns whether the drafter's logits have their own vocabulary
/// (draft_chain_c6).
static bool hasVocabulary(Operation *draft) {
  if (auto chain = dyn_cast<DraftChainOp>(draft))
    return chain.getVocabulary().has_value();
  if (auto heads = dyn_cast<DraftHeadsOp>(draft))
    return heads.getVocabulary().has_value();
  return cast<DraftTreeOp>(draft).getVocabulary().has_value();
}

/// Returns the regions of the drafter's modules.
static MutableArrayRef<Region> stepsOf(Operation *draft) {
  if (auto chain = dyn_cast<DraftChainOp>(draft))
    return chain.getSteps();
  return draft->getRegions();
}

/// Returns the parents of the drafted tree, if the drafts are a tree.
static std::optional<ArrayRef<int64_t>> treeOf(Operation *draft) {
  if (auto tree = dyn_cast_or_null<DraftTreeOp>(draft))
    return tree.getParents();
  auto heads = dyn_cast_or_null<DraftHeadsOp>(draft);
  return heads ? heads.getTree() : std::nullopt;
}

/// Returns the width of the target's hidden states that a step takes, or
/// nothing if the step takes none.
static std::optional<int64_t> hiddenWidth(Operation *draft, Region &step) {
  if (isa<DraftHeadsOp>(draft))
    return widthOf(step.getArgument(0));
  if (step.getNumArguments() != 3)
    return std::nullopt;
  auto chain = dyn_cast<DraftChainOp>(draft);
  return chain ? chain.getInputWidth() : widthOf(step.getArgument(1));
}

/// Checks round_c4: drafter and target have the same hidden width and
/// vocabulary.
static LogicalResult verifyWidths(const RoundParts &parts) {
  VerifyOp verify = parts.verify;
  for (Region &step : stepsOf(parts.draft)) {
    int64_t hidden =
        hiddenWidth(parts.draft, step).value_or(widthOf(verify.getHidden()));
    int64_t vocabulary = widthOf(step.front().getTerminator()->getOperand(0));
    if (hidden == widthOf(verify.getHidden()) &&
        (vocabulary == widthOf(verify.getLogits()) ||
         hasVocabulary(parts.draft))) {
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

/// Checks round_c5: the drafted tree is verified and accepted, or the verified
/// tree is each slot's own.
static LogicalResult verifySameTree(const RoundParts &parts) {
  std::optional<ArrayRef<int64_t>> parents = treeOf(parts.draft);
  VerifyOp verify = parts.verify;
  AcceptOp accept = parts.accept;
  Value own; // for parents that are numbers of a slot
  if (verify && (!parts.draft || verify.getParents()))
    parents = verify.getTree(), own = verify.getParents();
  auto isOther = [&](auto op) {
    return op.getTree() != parents || op.getParents() != own;
  };
  if (verify && isOther(verify))
    return verify.emitOpError("expected the tree of the drafts");
  if (accept && (parts.draft || verify) && isOther(accept))
    return accept.emitOpError("expected the tree of the drafts");
  return success();
}

/// Checks draft_chain_c9: a rule that uses the distribution of the drafts needs
/// a choice of verified drafts that does not depend on the drawn drafts.
static LogicalResult verifyEnd(const RoundParts &parts) {
  auto chain = dyn_cast_or_null<DraftChainOp>(parts.draft);
  AcceptOp accept = parts.accept;
  if (!chain || !chain.getPMin() || !accept ||
      accept.getRule() == AcceptRule::Exact)
    return success();
  InFlightDiagnostic diag =
      chain.emitOpError("expected a rule that is exact with p_min, got ")
      << stringifyAcceptRule(accept.getRule());
  diag.attachNote(accept.getLoc()) << "the rule is here";
  return diag;
}

/// Checks round_c8: the drafts and mtp.verify read the same want_k. The region
/// of accept also picks drafts.
static LogicalResult verifyWish(const RoundParts &parts) {
  if (!parts.draft || !parts.verify)
    return success();
  auto check = [](StoreOp store) -> WalkResult {
    if (store.getState() != "want_k")
      return WalkResult::advance();
    return store.emitOpError("expected before the drafts or after "
                             "mtp.verify, which both go by @want_k");
  };
  for (Operation *op = parts.draft; op != parts.verify; op = op->getNextNode())
    if (op->walk(check).wasInterrupted())
      return failure();
  AcceptOp accept = parts.accept;
  return failure(accept && accept.getBodyRegion().walk(check).wasInterrupted());
}

/// Checks round_c6: the envelope has room for the drafts.
static LogicalResult verifyEnvelope(RoundOp round, const RoundParts &parts) {
  auto envelope =
      round->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!envelope)
    return success(); // reported by round_c1
  int64_t maxK = envelope.getMaxK();
  if (round.getK()) {
    int64_t k = *round.getK();
    return k >= 0 && k <= maxK
               ? success()
               : round.emitOpError("expected k from 0 to max_k = ")
                     << maxK << ", got " << k;
  }
  if (!parts.draft) {
    VerifyOp verify = parts.verify;
    return maxK == 0 || !verify || verify.getDrafts()
               ? success()
               : round.emitOpError(
                     "expected max_k 0 where nothing drafts, got ")
                     << maxK;
  }
  int64_t modules = stepsOf(parts.draft).size();
  if (modules > maxK) {
    return round.emitOpError("expected at most max_k = ")
           << maxK << " draft modules, got " << modules;
  }
  std::optional<ArrayRef<int64_t>> tree = treeOf(parts.draft);
  if (isa<DraftHeadsOp>(parts.draft) && !tree && modules != maxK)
    return parts.draft->emitOpError( // draft_heads_c1
               "expected a head for each draft, max_k = ")
           << maxK << ", got " << modules;
  int64_t nodes = tree ? tree->size() : 0;
  int64_t most = envelope.getNodes(maxK);
  if (nodes > most) {
    return round.emitOpError("expected at most ")
           << (envelope.getMaxNodes() ? "max_nodes" : "max_k + 1") << " = "
           << most << " tree nodes, got " << nodes;
  }
  return success();
}

/// Checks round_c6: only a tree has more than depth + 1 nodes.
static LogicalResult verifyShape(RoundOp round, const RoundParts &parts) {
  auto envelope =
      round->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  VerifyOp verify = parts.verify;
  bool isChain = (parts.draft && !treeOf(parts.draft)) ||
                 (verify && verify.getDrafts() && !verify.getTree() &&
                  !verify.getParents());
  if (!envelope || !isChain ||
      envelope.getNodes(envelope.getMaxK()) == envelope.getMaxK() + 1)
    return success();
  return round.emitOpError("expected max_nodes = max_k + 1 = ")
         << envelope.getMaxK() + 1
         << ", or none, where drafts are no tree, got "
         << envelope.getMaxNodes();
}

/// Checks round_c7.
static LogicalResult verifyNodes(RoundOp round) {
  auto envelope =
      round->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!round.getNodes() || !envelope)
    return success();
  if (!round.getK())
    return round.emitOpError("expected a k with nodes");
  int64_t nodes = *round.getNodes(), most = envelope.getNodes(*round.getK());
  return nodes > int64_t(*round.getK()) && nodes <= most
             ? success()
             : round.emitOpError("expected nodes from k + 1 to ")
                   << most << ", got " << nodes;
}

int64_t RoundOp::getWindow() { return getNodes().value_or(*getK() + 1); }

LogicalResult RoundOp::verifyRegions() {
  FailureOr<RoundParts> parts = collectParts(*this);
  if (failed(parts) || failed(verifyDataflow(*parts)) ||
      failed(verifySameTree(*parts)) || failed(verifyEnd(*parts)) ||
      failed(verifyWish(*parts)) || failed(verifyEnvelope(*this, *parts)) ||
      failed(verifyShape(*this, *parts)) || failed(verifyNodes(*this))) {
    return failure();
  }
  return parts->draft && parts->verify ? verifyWidths(*parts) : success();
}
