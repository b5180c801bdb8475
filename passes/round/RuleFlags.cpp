//===- RuleFlags.cpp - Rules of logits in the bodies of slots -------------===//

#include "passes/round/RuleFlags.h"
#include "passes/support/RoundStates.h"
#include "runtime/schema/LogitRules.h"

using namespace mlir;
using namespace mlir::mtp;

Value mlir::mtp::hasRule(SlotBody &body, int64_t flag) {
  Value flags =
      body.load(states::kLogitRules, body.constant(::mtp::kRuleFlags));
  if (flag > 1)
    flags = body.quotient(flags, flag);
  return body.compare(SlotBody::Predicate::ne, body.rem(flags, 2), 0);
}

Value mlir::mtp::limitByMasks(SlotBody &body, ModuleOp module, int64_t nodes,
                              Value places) {
  auto masks = module.lookupSymbol<StateOp>(states::kLogitMasks);
  if (!masks || masks.getExtentSizes().front() >= nodes)
    return places;
  Value most = body.constant(masks.getExtentSizes().front());
  return body.select(hasRule(body, ::mtp::kRuleTokenMasks),
                     body.min(places, most), places);
}
