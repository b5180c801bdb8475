//===- ProfilePlan.h - What a profile decides about drafts ------*- C++ -*-===//
//
// Flags win: a profile decides only what they leave open. No token depends on
// these decisions unless an accept rule is lossy.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_PROFILEPLAN_H
#define MTP_COMPILER_IMPORT_PLAN_PROFILEPLAN_H

#include "compiler/Import/plan/ImportOptions.h"

#include <optional>

namespace mtp::importer {

/// Flags that a profile may decide.
struct ProfileRequest {
  /// The value of --draft-tree; empty: not given. "dynamic" without numbers
  /// asks for them.
  std::string tree;
  std::optional<int64_t> maxK;
  int64_t maxBatch = 4;
  /// Whether the profile decides --max-verify-tokens.
  bool limitsRows = false;
  /// Whether to choose the confidence at which a chain ends.
  bool choosesConfidence = false;
};

struct ProfileDecision {
  DraftTree tree;
  std::optional<int64_t> maxK;
  /// Rows of all slots that a round verifies, if the profile decides; 0: all.
  int64_t maxRows = 0;
  /// The chosen confidence; none if none pays, or if it is not to be chosen.
  std::optional<double> confidence;
  ProfiledModel model;
  /// The decisions and their expected speed, for a note.
  std::string text;
};

/// Reads the profile of `path` and decides about the tree and the largest k. A
/// profile with costs of several machines counts with the costs of this machine
/// if it has them, else with the newest.
Result<ProfileDecision> decideByProfile(const std::string &path,
                                        const ProfileRequest &request);

/// Fails if a profile is of another method than `method`, whatever the
/// arrangement of drafts and what comes before them.
Status checkProfiledMethod(const ProfiledModel &profiled,
                           const std::string &method);

/// Fails if a profile is of another drafter than `drafter`, in any arrangement,
/// or of a model with tokens beyond `vocab`.
Status checkProfiled(const ProfiledModel &profiled, const std::string &drafter,
                     int64_t vocab);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_PROFILEPLAN_H
