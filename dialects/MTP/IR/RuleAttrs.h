//===- RuleAttrs.h - Attributes of a custom rule ----------------*- C++ -*-===//
//
// Attributes of an mtp.accept, and of functions that compute rules. For an
// mtp.accept with `custom` the expansion copies the first two to the module,
// and from there they go to the artifact. The author of the rule vouches for
// them: the compiler cannot derive them from code.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_MTP_IR_RULEATTRS_H
#define MTP_DIALECTS_MTP_IR_RULEATTRS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The rule's name and numbers, for users: "typical:0.09,0.3". A line of 1 to
/// kMostRuleBytes printable characters.
inline constexpr llvm::StringLiteral kRuleAttr = "mtp.rule";
inline constexpr size_t kMostRuleBytes = 64;

/// Unit attribute: the output does not have the target's distribution.
inline constexpr llvm::StringLiteral kLossyAttr = "mtp.lossy";

/// Unit attribute: drafts are the best of their logits instead of picks of
/// accept's region, for a rule that takes drafts as certain (q = 1).
inline constexpr llvm::StringLiteral kBestDraftsAttr = "mtp.best_drafts";

/// Unit attribute of an mtp.sample, or of an mtp.top_k with noise: it picks
/// drafts.
inline constexpr llvm::StringLiteral kPicksDraftsAttr = "mtp.picks_drafts";

/// Unit attribute of an mtp.sample: it picks from the rows of a round's
/// mtp.verify.
inline constexpr llvm::StringLiteral kPicksWindowAttr = "mtp.picks_window";

/// Attribute of a function: an array with a dictionary for each rule of
/// `mtp-import --accept` that the function computes. The importer reads it
/// (compiler/Import/library/RULES.md).
inline constexpr llvm::StringLiteral kAcceptRulesAttr = "mtp.accept_rules";

/// Unit attribute of an mtp.top_k with noise: its logarithms are the
/// log-softmax of its ranking values, logits over the temperature plus noise.
/// Sums of them rank the nodes of a tree whose drafts are picked with that
/// noise.
inline constexpr llvm::StringLiteral kSharesAttr = "mtp.shares";

/// Checks that a rule attribute stands on an allowed op and has its kind.
LogicalResult verifyRuleAttr(Operation *op, NamedAttribute attr);
LogicalResult verifyAcceptRules(Operation *op, NamedAttribute attr);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_RULEATTRS_H
