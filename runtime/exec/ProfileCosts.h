//===- ProfileCosts.h - What a session takes from a profile -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROFILECOSTS_H
#define MTP_RUNTIME_EXEC_PROFILECOSTS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"
#include "runtime/device/Device.h"
#include "runtime/exec/schedule/DraftPolicy.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/LaunchChoice.h"
#include "runtime/profile/ProfileKeys.h"

#include <map>

namespace mtp {

/// The part of a profile that matches a session.
struct ProfileCosts {
  /// Costs of rounds, and acceptance.
  DraftPolicy::LearnedCosts learned;
  /// Rows and seconds of some passes over prompts, and of some rounds.
  struct Pass {
    uint32_t rows = 0;
    double seconds = 0;
  };
  std::vector<Pass> prefills, rounds;
  /// By kind of request, the acceptance of drafts by position.
  std::map<std::string, std::vector<double>> kinds;
  /// The machine's costs in the profile; null if there are none.
  const profile::MachineCosts *machine = nullptr;
  /// Reasons why parts were left out, one line of text each.
  std::vector<std::string> notes;
};

/// Returns the part of a profile of the same model that matches a plan's
/// programs on a machine. Fails if the profile has costs of other machines
/// only.
Result<ProfileCosts> matchProfile(const profile::Profile &profile,
                                  const profile::ProgramKeys &programs,
                                  const profile::MachineKey &machine);

/// Returns the part of a profile that matches a session on one of its machines
/// whose artifact has all measured programs.
ProfileCosts takeProfile(const profile::Profile &profile,
                         const profile::MachineCosts &machine);

/// Returns a machine's costs of the programs that a plan has.
profile::MachineCosts costsOfPlan(const profile::MachineCosts &machine,
                                  const profile::ProgramKeys &programs);

/// Returns the rounds of a session's launches: as a profile's launches of a
/// plan's programs choose, else the usual number.
uint32_t planRounds(const profile::ProgramKeys &programs,
                    const profile::Profile &profile,
                    const profile::MachineCosts &machine,
                    const profile::LaunchInput &limits);

/// Sizes of a session for a choice of graphs.
struct CaptureLimits {
  uint32_t slots = 1, k = 0;
  /// Whether launches may have several rounds.
  bool repeats = false;
};

/// The graphs of a session.
struct CapturePlan {
  profile::CaptureSizes sizes;
  /// Launches of rounds, the most frequent first.
  std::vector<ExpectedLaunch> launches;
};

/// Returns the nodes of a round's graphs: alone, and in a loop if `repeats`.
uint64_t graphNodesOf(const Plan &plan, uint32_t program, bool repeats);

/// Chooses graphs by the load, and by a machine's costs of programs that the
/// plan has. Without a load or such costs each number of slots has a graph, and
/// no launch is expected.
CapturePlan planCaptures(const Plan &plan, const profile::ProgramKeys &programs,
                         const profile::MachineCosts &machine,
                         const profile::Load &load,
                         const CaptureLimits &limits);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROFILECOSTS_H
