//===- VerifyWiring.cpp - Check drafter, target and caches ----------------===//
//
// What no single operation can see; see the pass's description for the rules,
// whose labels (W1...) stand beside the checks.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/Wiring.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_VERIFYWIRINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct VerifyWiringPass
    : public mtp::impl::VerifyWiringPassBase<VerifyWiringPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult verify();
};
} // namespace

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

/// The first embedding at or below `root`, calls included. The verifiers of the
/// calls have checked the callees; recursion is reported with the caches.
static EmbedOp findEmbed(Operation *root, int depth = 0) {
  EmbedOp found;
  root->walk([&](Operation *op) {
    if (auto embed = dyn_cast<EmbedOp>(op)) {
      found = embed;
    } else if (depth < 8 && isa<ApplyOp, func::CallOp>(op)) {
      auto name = op->getAttrOfType<FlatSymbolRefAttr>("callee");
      auto callee =
          SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
      found = findEmbed(callee, depth + 1);
    }
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// W2: drafter and target number tokens alike.
static LogicalResult verifyVocabulary(RoundOp round) {
  EmbedOp target;
  for (VerifyOp verify : round.getBody()->getOps<VerifyOp>()) {
    target = findEmbed(verify);
  }
  for (Operation &op : *round.getBody()) {
    if (!isa<DraftChainOp, DraftTreeOp>(op) || !target) {
      continue;
    }
    EmbedOp drafter = findEmbed(&op);
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

/// The rows before a static tree was made of them.
static Value getPlainRows(Value rows) {
  while (auto tree = rows.getDefiningOp<TreeRowsOp>()) {
    rows = tree.getRows();
  }
  return rows;
}

/// W9: one notion of the rows in every function and region.
static LogicalResult verifyRows(ModuleOp module) {
  DenseMap<Region *, std::pair<Value, Operation *>> known;
  WalkResult result = module.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!isa<RowsType>(operand.getType())) {
        continue;
      }
      Value rows = getPlainRows(operand);
      auto [it, inserted] = known.insert({op->getParentRegion(), {rows, op}});
      if (!inserted && it->second.first != rows) {
        InFlightDiagnostic diag = op->emitOpError(
            "expected the rows that the operations around it know");
        diag.attachNote(it->second.second->getLoc())
            << "other rows are used here";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The rotation that `value` went through last, if it is near.
static RopeOp findRope(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto rope = dyn_cast<RopeOp>(op)) {
      return rope;
    }
    if (auto slice = dyn_cast<SliceOp>(op)) {
      value = slice.getX();
    } else {
      return {};
    }
  }
  return {};
}

/// W10: query and key are rotated alike, or neither is.
static LogicalResult verifyRotation(Operation *op, Value query, Value key) {
  RopeOp q = findRope(query), k = findRope(key);
  if (!q && !k) {
    return success();
  }
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
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      return WalkResult(verifyRotation(op, attention.getQ(), attention.getK()));
    }
    if (auto attention = dyn_cast<MlaAttentionOp>(op)) {
      return WalkResult(
          verifyRotation(op, attention.getQ(), attention.getKPe()));
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult VerifyWiringPass::verify() {
  ModuleOp module = getOperation();
  for (func::FuncOp func : module.getOps<func::FuncOp>()) {
    if (auto claim = func->getAttrOfType<WiringAttr>(kWiringAttr)) {
      if (failed(verifyDrafter(func, claim))) {
        return failure();
      }
      ++numDrafters;
    }
  }
  if (failed(verifyRows(module)) || failed(verifyRotations(module))) {
    return failure();
  }
  auto rounds = module.getOps<RoundOp>();
  if (rounds.empty()) { // W1
    return module->hasAttr(kEnvelopeAttr)
               ? module.emitError("expected a round in a module with an "
                                  "envelope")
               : success();
  }
  int64_t uses = 0;
  RoundOp round = *rounds.begin();
  if (failed(verifyVocabulary(round)) ||
      failed(verifyCacheUses(module, round, uses))) {
    return failure();
  }
  numCacheUses += uses;
  return success();
}

void VerifyWiringPass::runOnOperation() {
  if (failed(verify())) {
    return signalPassFailure();
  }
  markAllAnalysesPreserved();
}
