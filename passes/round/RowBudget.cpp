//===- RowBudget.cpp - Whether a round may verify fewer rows --------------===//

#include "passes/round/RowBudget.h"
#include "passes/round/RoundExpansion.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the op that requires a round to verify all rows, and the reason;
/// nothing if the choice of verified rows only changes the number of rounds.
static std::optional<std::pair<Operation *, llvm::StringRef>>
findNeedOfAll(RoundOp round) {
  using Need = std::pair<Operation *, llvm::StringRef>;
  auto verifies = round.getBody()->getOps<VerifyOp>();
  if (verifies.empty())
    return Need{round, "without an mtp.verify all rows are computed"};
  VerifyOp verify = *verifies.begin();
  if (!followsLimit(verify))
    return Need{verify, "without an mtp.accept that is exact, and takes the "
                        "drafts, output would depend on how many sequences "
                        "run"};
  if (!goesByRows(verify.getBodyRegion()))
    return Need{verify, "its region needs all rows of a slot"};
  return std::nullopt;
}

LogicalResult mlir::mtp::checkRowBudget(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  RoundOp largest;
  for (RoundOp round : module.getOps<RoundOp>())
    if (round.getK() && envelope.trims(round.getWindow()) &&
        findNeedOfAll(round) &&
        (!largest || round.getWindow() > largest.getWindow()))
      largest = round;
  if (!largest)
    return success();
  auto [op, why] = *findNeedOfAll(largest);
  return op->emitOpError("expected max_rows of at least max_batch * ")
         << largest.getWindow() << " = "
         << envelope.getMaxBatch() * largest.getWindow() << ", or none, got "
         << envelope.getMaxRows() << ": " << why;
}
