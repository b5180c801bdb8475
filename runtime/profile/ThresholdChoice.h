//===- ThresholdChoice.h - Where a profile ends drafts ----------*- C++ -*-===//
//
// A chain may end before the first draft whose confidence is below a threshold.
// It then loses the accepted drafts below the threshold, and saves the rows and
// the drafter's passes of all drafts that follow.
//
// Confidences of one chain count as independent. A chain that has left the
// accepted text would end earlier, so a threshold is worth a little more than
// predicted.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_THRESHOLDCHOICE_H
#define MTP_RUNTIME_PROFILE_THRESHOLDCHOICE_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

#include <cstdint>
#include <string>

namespace mtp::profile {

/// A threshold of confidence with its expected speed.
struct Threshold {
  /// Drafts of a lower confidence end a chain; 0: none do.
  double least = 0;
  /// The most drafts of a round.
  uint32_t k = 0;
  /// Tokens and verified drafts of a slot per round, and seconds of a round of
  /// one slot.
  double tokens = 1, drafts = 0, seconds = 0;
  /// Tokens per second over the rate of plain steps, a mean over the load.
  double gain = 1;
};

/// Limits of a search.
struct ThresholdLimits {
  uint32_t leastK = 1, mostK = 16;
  /// The threshold that others are compared with.
  double usual = 0;
};

/// The best number of drafts with the usual threshold, and with any.
struct ThresholdReport {
  Threshold usual, best;
  /// Tokens per second of `best` over `usual`'s, and one deviation that
  /// follows from the numbers of outcomes.
  double gain = 1, doubt = 0;

  /// Whether `best` gains more than noise and at least 1 %.
  bool pays() const;
};

/// Compares thresholds under the costs of a machine. Fails if the profile has
/// too few outcomes by confidence, or lacks costs or outcomes by position.
Result<ThresholdReport> chooseThreshold(const Profile &profile,
                                        const MachineCosts &machine,
                                        const ThresholdLimits &limits);

/// Returns a report as a line of text.
std::string thresholdText(const ThresholdReport &report);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_THRESHOLDCHOICE_H
