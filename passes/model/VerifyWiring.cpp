//===- VerifyWiring.cpp - Check drafter, target and caches ----------------===//
//
// Checks rules that no single operation can verify. The pass's description
// lists the rules; their labels (W1...) mark the checks.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/model/Wiring.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_VERIFYWIRINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct VerifyWiringPass
    : public mlir::mtp::impl::VerifyWiringPassBase<VerifyWiringPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult verify();
};
} // namespace

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

/// Returns the first embedding at or below `root`, calls included. The
/// verifiers of the calls have checked the callees. Recursion is reported
/// together with the caches.
static EmbedOp findEmbed(Operation *root, const SymbolTable &symbols) {
  // A function without an embedding need not be searched twice.
  DenseSet<Operation *> searched;
  SmallVector<Operation *> pending{root};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (auto embed = dyn_cast<EmbedOp>(op))
      return embed;
    if (FlatSymbolRefAttr callee = getCallee(op)) {
      op = symbols.lookup<func::FuncOp>(callee.getValue());
      if (!op || !searched.insert(op).second)
        continue;
    }
    SmallVector<Operation *> inner;
    op->walk([&](Operation *nested) {
      if (isa<EmbedOp>(nested) || getCallee(nested))
        inner.push_back(nested);
    });
    pending.append(inner.rbegin(), inner.rend());
  }
  return {};
}

/// Checks W2: drafter and target number tokens alike.
static LogicalResult verifyVocabulary(RoundOp round,
                                      const SymbolTable &symbols) {
  EmbedOp target;
  for (VerifyOp verify : round.getBody()->getOps<VerifyOp>())
    target = findEmbed(verify, symbols);
  for (Operation &op : *round.getBody()) {
    if (!isa<DraftChainOp, DraftTreeOp, DraftHeadsOp>(op) || !target)
      continue;
    EmbedOp drafter = findEmbed(&op, symbols);
    auto rows = [](EmbedOp embed) {
      return cast<RankedTensorType>(embed.getTable().getType()).getDimSize(0);
    };
    if (drafter && rows(drafter) != rows(target)) {
      InFlightDiagnostic diag =
          drafter.emitOpError("expected the target's vocabulary of ")
          << rows(target) << ", got " << rows(drafter);
      diag.attachNote(target.getLoc()) << "the target embeds here";
      return diag;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Returns the rows from which a static tree was made, or `rows` itself.
static Value getPlainRows(Value rows) {
  auto tree = rows.getDefiningOp<TreeRowsOp>();
  return tree ? tree.getRows() : rows;
}

/// Returns whether the op around `region` passes rows to it. The op may run the
/// region again for other rows.
static bool isGivenRows(Region *region) {
  return isa_and_nonnull<DraftChainOp, DraftTreeOp, DraftHeadsOp, VerifyOp,
                         AcceptOp>(region->getParentOp());
}

/// Checks W9: an op in such a region uses rows of the region.
static LogicalResult verifyRows(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    Region *region = op->getParentRegion();
    while (region && !isGivenRows(region))
      region = region->getParentRegion();
    if (!region)
      return WalkResult::advance();
    for (Value operand : op->getOperands()) {
      if (!isa<RowsType>(operand.getType()) ||
          region->isAncestor(operand.getParentRegion()))
        continue;
      InFlightDiagnostic diag = op->emitOpError(
          "expected the rows that the region around it is given");
      diag.attachNote(operand.getLoc()) << "other rows are used, made here";
      return diag;
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Returns the last rotation of `value`, if only slices and similar ops follow
/// it.
static RopeOp findRope(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto rope = dyn_cast<RopeOp>(op))
      return rope;
    if (auto slice = dyn_cast<SliceOp>(op))
      value = slice.getX();
    else
      return {};
  }
  return {};
}

/// Checks W10: query and key are both rotated by the rows that attend, or
/// neither is rotated.
static LogicalResult verifyRotation(Operation *op, Value query, Value key,
                                    Value rows) {
  RopeOp q = findRope(query), k = findRope(key);
  for (RopeOp rope : {q, k}) {
    if (!rope || getPlainRows(rope.getRows()) == getPlainRows(rows))
      continue;
    InFlightDiagnostic diag = op->emitOpError(
        "expected query and key rotated by the rows that attend");
    diag.attachNote(rope.getLoc()) << "rotated here, by other rows";
    return diag;
  }
  if (!q && !k)
    return success();
  if (!q || !k) {
    InFlightDiagnostic diag =
        op->emitOpError("expected query and key both "
                        "rotated or neither, got only the ")
        << (q ? "query" : "key");
    diag.attachNote((q ? q : k).getLoc()) << "rotated here";
    return diag;
  }
  if (q.getRope() != k.getRope()) {
    InFlightDiagnostic diag = op->emitOpError("expected query and key rotated "
                                              "alike, got ")
                              << q.getRope() << " and " << k.getRope();
    diag.attachNote(k.getLoc()) << "the key is rotated here";
    return diag;
  }
  return success();
}

static LogicalResult verifyRotations(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return WalkResult(verifyRotation(op, attention.getQ(), attention.getK(),
                                       attention.getRows()));
    if (auto attention = dyn_cast<MlaAttentionOp>(op)) {
      return WalkResult(verifyRotation(op, attention.getQ(), attention.getKPe(),
                                       attention.getRows()));
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks W1: the module contains nothing that no pass reads.
static LogicalResult verifyMembers(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (!isa<WeightsOp, CacheOp, RecurrenceOp, StateOp, VocabularyOp, RoundOp,
             PrefillOp, func::FuncOp>(op) &&
        !isa_and_nonnull<exec::ExecDialect>(op.getDialect())) {
      return op.emitOpError("expected a round, functions, caches, recurrences, "
                            "states, vocabularies and the names of weight "
                            "files in a module");
    }
  }
  return success();
}

LogicalResult VerifyWiringPass::verify() {
  ModuleOp module = getOperation();
  if (failed(verifyMembers(module)))
    return failure();
  for (func::FuncOp func : module.getOps<func::FuncOp>()) {
    if (auto claim = func->getAttrOfType<WiringAttr>(kWiringAttr)) {
      if (failed(verifyDrafter(func, claim)))
        return failure();
      ++numDrafters;
    }
  }
  if (failed(verifyRows(module)) || failed(verifyRotations(module)))
    return failure();
  auto rounds = module.getOps<RoundOp>();
  if (rounds.empty()) { // W1
    bool isWritten = !module.getOps<exec::ProgramOp>().empty();
    return module->hasAttr(kEnvelopeAttr) && !isWritten
               ? module.emitError("expected a round in a module with an "
                                  "envelope")
               : success();
  }
  int64_t uses = 0;
  RoundOp round = *rounds.begin();
  SymbolTable symbols(module);
  if (failed(verifyVocabulary(round, symbols)) ||
      failed(verifyCacheUses(module, symbols, round, uses))) {
    return failure();
  }
  numCacheUses += uses;
  return success();
}

void VerifyWiringPass::runOnOperation() {
  if (failed(verify()))
    return signalPassFailure();
  markAllAnalysesPreserved();
}
