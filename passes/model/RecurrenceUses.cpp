//===- RecurrenceUses.cpp - Check uses of recurrent layers ----------------===//
//
// A recurrent state is valid at one position: after the last rows that its slot
// ran. Running other rows, or some rows twice, would corrupt it. So the
// target's verification runs each layer once on every row, in rounds and in
// prompts.
//
//===----------------------------------------------------------------------===//

#include "passes/model/RecurrenceUses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// A layer of a recurrence; the int is 1 for its convolution, else 0.
using Part = std::tuple<Attribute, int64_t, int>;
using Uses = DenseMap<Part, Operation *>;
} // namespace

/// Returns the part that `op` uses, if it is a recurrent op with a memory.
static std::optional<Part> partOf(Operation *op) {
  if (auto conv = dyn_cast<CausalConvOp>(op); conv && conv.getMemory())
    return Part{conv.getMemoryAttr(), *conv.getLayer(), 1};
  if (auto rule = dyn_cast<DeltaRuleOp>(op); rule && rule.getMemory())
    return Part{rule.getMemoryAttr(), *rule.getLayer(), 0};
  return std::nullopt;
}

static Value rowsOf(Operation *op) {
  auto conv = dyn_cast<CausalConvOp>(op);
  return conv ? conv.getRows() : cast<DeltaRuleOp>(op).getRows();
}

/// Checks rules E4 and E5 of `mtp-verify-entries` for one op.
static LogicalResult verifyPlace(Operation *op) {
  if (auto loop = op->getParentOfType<scf::ForOp>()) {
    InFlightDiagnostic diag =
        op->emitOpError("expected no loop around it, which would run its rows "
                        "again");
    diag.attachNote(loop.getLoc()) << "the loop is here";
    return diag;
  }
  // A program in core ops states itself how its rows run.
  if (rowsOf(op).getDefiningOp<RunRowsOp>())
    return success();
  auto verify = op->getParentOfType<VerifyOp>();
  if (!verify || rowsOf(op) != verify.getBodyRegion().getArgument(1))
    return op->emitOpError("expected the rows of an mtp.verify, or of "
                           "mtp.run_rows: a drafter has no recurrent layers, "
                           "since its rows may be run again");
  if (!verify.getTree() && !verify.getParents())
    return success();
  InFlightDiagnostic diag = op->emitOpError(
      "expected a chain of drafts, since there is one state for all branches "
      "of a tree");
  diag.attachNote(verify.getLoc()) << "the tree is verified here";
  return diag;
}

/// Checks rule E3 of `mtp-verify-entries`, and rules E4 and E5 of each use.
static FailureOr<Uses> findUses(Operation *program) {
  Uses uses;
  WalkResult walked = program->walk([&](Operation *op) -> WalkResult {
    std::optional<Part> part = partOf(op);
    if (!part)
      return WalkResult::advance();
    auto [known, isFirst] = uses.insert({*part, op});
    if (!isFirst) {
      InFlightDiagnostic diag = op->emitOpError("expected layer ")
                                << std::get<1>(*part) << " of "
                                << std::get<0>(*part)
                                << " to be used once, got a second use";
      diag.attachNote(known->second->getLoc()) << "the first is here";
      return diag;
    }
    return verifyPlace(op);
  });
  if (walked.wasInterrupted())
    return failure();
  return uses;
}

/// Checks rule E6 of `mtp-verify-entries`.
static LogicalResult verifyComplete(Operation *program, RecurrenceOp memory,
                                    const Uses &uses) {
  auto name = FlatSymbolRefAttr::get(memory.getSymNameAttr());
  for (int64_t layer = 0; layer < int64_t(memory.getLayers()); ++layer)
    for (int isConv : {1, 0}) {
      if (uses.contains({name, layer, isConv}))
        continue;
      InFlightDiagnostic diag =
          program->emitOpError("expected ")
          << (isConv ? "an mtp.causal_conv" : "an mtp.delta_rule")
          << " with layer " << layer << " of " << name << ", got none";
      diag.attachNote(memory.getLoc()) << "the recurrence is declared here";
      return diag;
    }
  return success();
}

LogicalResult mlir::mtp::verifyRecurrences(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (!isa<RoundOp, PrefillOp>(op))
      continue;
    FailureOr<Uses> uses = findUses(&op);
    if (failed(uses))
      return failure();
    for (RecurrenceOp memory : module.getOps<RecurrenceOp>())
      if (failed(verifyComplete(&op, memory, *uses)))
        return failure();
  }
  return success();
}
