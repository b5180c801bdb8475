//===- VocabularyChoice.h - Tokens that a drafter proposes ------*- C++ -*-===//
//
// A drafter whose head reads the rows of frequent tokens only is faster, and
// loses the drafts of other tokens. The profile's counts of accepted drafts
// tell how many it loses, and the costs how much time it saves.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_VOCABULARYCHOICE_H
#define MTP_RUNTIME_PROFILE_VOCABULARYCHOICE_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::profile {

/// The part of the vocabulary that a drafter reads, with its expected effect.
struct VocabularyChoice {
  /// The tokens in ascending order; empty: the whole vocabulary.
  std::vector<int32_t> tokens;
  /// The size of the whole vocabulary, and the number of tokens with counts.
  uint32_t vocab = 0, counted = 0;
  /// The share of the accepted drafts that have one of the tokens. Too small
  /// if counts of tokens lost more weight with age than outcomes. Too large if
  /// outcomes lost more: tokens without counts are missing.
  double covered = 1;
  /// Tokens per second over the whole vocabulary's.
  double gain = 1;
};

/// Chooses the vocabulary of drafts with the most tokens per second, a mean
/// over the profile's load. The tokens are the ones that were accepted most
/// often. Tokens without counts are taken for tokens that the choice loses. A
/// gain of less than 1 % counts as none. A chain has the acceptance of its
/// positions and a tree that of its nodes. Fails if the profile lacks the
/// drafter's head, acceptance, counts of tokens or costs.
Result<VocabularyChoice> chooseVocabulary(const Profile &profile,
                                          const MachineCosts &machine);

/// Returns a choice as a line of text.
std::string vocabularyText(const VocabularyChoice &choice);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_VOCABULARYCHOICE_H
