//===- LaunchChoice.h - How many rounds a launch has ------------*- C++ -*-===//
//
// A device may run several rounds for each launch. The host's time is then paid
// once for all of them, but rounds after a sequence's end still have its rows,
// and a new prompt waits for the round that has begun. The choice weighs both
// by a profile's costs, acceptance and load
// (runtime/exec/DESIGN.md#rounds-per-launch).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_LAUNCHCHOICE_H
#define MTP_RUNTIME_PROFILE_LAUNCHCHOICE_H

#include "runtime/profile/Profile.h"

#include <optional>

namespace mtp::profile {

/// Limits for a choice of rounds per launch.
struct LaunchInput {
  uint32_t mostSlots = UINT32_MAX, mostK = UINT32_MAX;
  /// Largest number of rounds that a launch can have, and the number without a
  /// profile.
  uint32_t mostRounds = 1, usualRounds = 1;
};

/// A number of rounds per launch, with its predicted effect.
struct LaunchOption {
  uint32_t rounds = 1;
  /// Mean seconds of a round, all costs included, and one deviation of them.
  double seconds = 0, doubt = 0;
  /// Ratio of the tokens per second to those of the usual number.
  double gain = 1;
};

struct LaunchChoice {
  uint32_t rounds = 1, usualRounds = 1;
  /// Ratio of the tokens per second to those of the usual number, and one
  /// deviation of it.
  double gain = 1, doubt = 0;
  /// Mean output tokens of a sequence; assumed if the load has no lengths.
  double tokens = 0;
  bool isAssumed = false;
  /// The numbers that were compared, ascending.
  std::vector<LaunchOption> options;
};

/// Returns the number of rounds with the most tokens per second, or nothing if
/// a machine has no launches of different numbers of rounds. Another number
/// than the usual one must be better by more than one deviation.
std::optional<LaunchChoice> chooseLaunch(const Profile &profile,
                                         const MachineCosts &machine,
                                         const LaunchInput &input);

/// Returns the choice for a profile alone, as a session makes it with the
/// largest number of slots and of drafts.
std::optional<LaunchChoice> launchOf(const Profile &profile,
                                     const MachineCosts &machine);

/// Returns lines that describe a choice.
std::string launchText(const LaunchChoice &choice);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_LAUNCHCHOICE_H
