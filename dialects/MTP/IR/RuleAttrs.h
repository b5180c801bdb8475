//===- RuleAttrs.h - What a custom rule says of itself ----------*- C++ -*-===//
//
// Attributes of an mtp.accept. Of one with `custom` the first two are handed on
// to the module when it is expanded, and from there to the artifact. Whoever
// writes the rule answers for them: a body of code does not tell.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_MTP_IR_RULEATTRS_H
#define DIALECTS_MTP_IR_RULEATTRS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The rule's name and numbers, for people: "typical:0.09,0.3". A line of 1 to
/// kMostRuleBytes printable characters.
inline constexpr llvm::StringLiteral kRuleAttr = "mtp.rule";
inline constexpr size_t kMostRuleBytes = 64;

/// Unit: the output has not the target's distribution.
inline constexpr llvm::StringLiteral kLossyAttr = "mtp.lossy";

/// Unit: drafts are the best of their logits, and not what the region of accept
/// picks, for a rule that takes them for certain (q = 1).
inline constexpr llvm::StringLiteral kBestDraftsAttr = "mtp.best_drafts";

/// Unit, of an mtp.top_k with noise: its logarithms are those of the softmax of
/// what it ranks by, logits over the temperature with their noise, so that sums
/// of them rank nodes of a tree whose drafts are picked with that noise.
inline constexpr llvm::StringLiteral kSharesAttr = "mtp.shares";

/// Checks that one of these stands where it may and has its kind.
LogicalResult verifyRuleAttr(Operation *op, NamedAttribute attr);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_RULEATTRS_H
