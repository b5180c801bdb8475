//===- RuleFlags.h - Rules of logits in the bodies of slots -----*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_RULEFLAGS_H
#define MTP_PASSES_ROUND_RULEFLAGS_H

#include "passes/support/SlotBody.h"

namespace mlir::mtp {

/// Returns whether the body's slot has a flag of `logit_rules` (RuleFlag).
Value hasRule(SlotBody &body, int64_t flag);

/// Returns the number of nodes that a slot may verify, of `places` nodes in a
/// window of `nodes`: a slot with masks verifies only nodes that have masks.
Value limitByMasks(SlotBody &body, ModuleOp module, int64_t nodes,
                   Value places);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_RULEFLAGS_H
