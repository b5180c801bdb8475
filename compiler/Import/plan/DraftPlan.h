//===- DraftPlan.h - The plan of a model's drafts ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_PLAN_DRAFTPLAN_H
#define MTP_COMPILER_IMPORT_PLAN_DRAFTPLAN_H

#include "compiler/Import/plan/ImportOptions.h"
#include "runtime/core/Result.h"

namespace mtp::importer {

/// The drafter, the number of the model's modules that draft, and the number of
/// drafts per round.
struct DraftPlan {
  DrafterSpec drafter;
  /// A lookup with precedence over the drafter.
  std::optional<LookupSizes> before;
  AcceptSpec accept;
  int64_t maxK = 0;
  int64_t modules = 0;
  /// The number of nodes of a tree. 0 for a chain.
  int64_t maxNodes = 0;
  /// The drafter in a folder of its own, or null.
  const DrafterFolder *folder = nullptr;
  DraftTree tree;
  /// Lower limit of a draft's confidence, if the flag is given.
  std::optional<double> confidence;
  /// True if rounds may stop after drafting for a host that sees the drafts.
  bool showsDrafts = false;
  /// True if requests may change logits. Rounds that draft may then stop for a
  /// host that masks tokens.
  bool changesLogits = false;
  int64_t maxContext = 0;
  /// The number of tokens that drafters may lag and catch up.
  int64_t catchUpRows = 0;
};

/// Chooses values for the options that the flags leave open. Fails with the
/// name of the flag if an option does not fit the model or the drafter.
/// `folder` is the drafter's folder; it may be null and must outlive the plan.
Result<DraftPlan> planDrafts(const ModelConfig &config,
                             const DrafterFolder *folder,
                             const ImportOptions &options);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_DRAFTPLAN_H
