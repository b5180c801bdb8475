//===- Drafts.h - The number of drafts by a profile -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_DRAFTS_H
#define MTP_TOOLS_MTP_TUNE_DRAFTS_H

#include "runtime/profile/Profile.h"

#include <optional>
#include <vector>

namespace mtp::tune {

/// Rounds of k drafts against plain steps, at a number of slots and a context.
struct Alternative {
  uint32_t k = 0;
  /// Rows of all slots.
  uint32_t rows = 0;
  /// Seconds of a round, and half of the distance between its quartiles as a
  /// share of the seconds.
  double seconds = 0, spread = 0;
  /// Tokens per round and slot.
  double length = 1;
  /// Tokens per second of all slots.
  double rate = 0;
  /// The rate divided by the rate of plain steps, and its uncertainty.
  double gain = 1, doubt = 0;
};

/// The choice of k for a number of slots and a context.
struct Decision {
  uint32_t batch = 1;
  /// The bucket of the context's tokens.
  uint32_t context = 0;
  /// Positions in the caches of all slots.
  uint64_t positions = 0;
  std::vector<Alternative> alternatives;
  /// Indices into `alternatives`: the choice of a session with automatic k and
  /// these alternatives at its start, and the default (the largest k).
  size_t best = 0, defaultChoice = 0;
  /// How the choice compares with the default; `doubt` is one deviation.
  double gain = 1, doubt = 0;

  /// Returns the rows of a round with the chosen k.
  uint32_t rows() const { return alternatives[best].rows; }
};

/// Returns the mean number of tokens of a round with k drafts; nothing if a
/// position has too few outcomes.
std::optional<double> acceptanceLength(const profile::Outcomes &outcomes,
                                       uint32_t k);

/// Returns the decisions that a machine's costs allow, by slots and context.
/// Shapes without a plain step, or with nothing else, are left out.
std::vector<Decision> decide(const profile::Profile &profile,
                             const profile::MachineCosts &machine);

/// Returns the share of all rounds that accept each draft, as a profile has it.
/// The list ends before the first position without enough outcomes.
std::vector<double> acceptanceOf(const profile::Profile &profile);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_DRAFTS_H
