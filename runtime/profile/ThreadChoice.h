//===- ThreadChoice.h - How many threads a session uses ---------*- C++ -*-===//
//
// More threads than a memory needs make rounds slower. A profile with rounds of
// several numbers of threads tells which number is the fastest.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_THREADCHOICE_H
#define MTP_RUNTIME_PROFILE_THREADCHOICE_H

#include "runtime/profile/Profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::profile {

/// A number of threads, compared with the default.
struct ThreadOption {
  uint32_t threads = 1;
  /// Mean ratio of the times of rounds to the default's, and one deviation of
  /// it; 1 and 0 without common rounds.
  double ratio = 1, error = 0;
  /// Number of rounds that were measured with both numbers.
  size_t rounds = 0;
};

struct ThreadChoice {
  uint32_t threads = 1, usualThreads = 1;
  /// Ratio of the rate of rounds to the default's, and one deviation of it.
  double gain = 1, doubt = 0;
  /// Fewer threads than the default, in the order of the profile.
  std::vector<ThreadOption> options;
};

/// Returns the number of threads for a machine with `usable` processors: fewer
/// if a profile has costs of both numbers, and rounds were faster with fewer.
ThreadChoice chooseThreads(const Profile &profile, const std::string &machine,
                           uint32_t usable);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_THREADCHOICE_H
