//===- Alternatives.h - Costs of what a compiler could choose ---*- C++ -*-===//
//
// A tunable (runtime/schema/Tunables.h) has a default and other values.
// mtp-tune compiles an artifact for each other value and compares its rounds
// with the default's, in pairs. A compiler takes the value that a profile
// prefers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_ALTERNATIVES_H
#define MTP_RUNTIME_PROFILE_ALTERNATIVES_H

#include "runtime/profile/Profile.h"
#include "runtime/schema/Tunables.h"

#include <vector>

namespace mtp::profile {

/// A choice of a value for a tunable.
struct TunedChoice {
  const Tunable *tunable = nullptr;
  /// The value to compile with; the default if no other value pays.
  int64_t value = 0;
  /// The measured value with the best mean ratio over its shapes, the ratio,
  /// and its standard error.
  int64_t best = 0;
  double ratio = 1, error = 0;
  size_t shapes = 0;
  /// True if a shape is slower with the best value beyond noise.
  bool isSlowerSomewhere = false;

  bool isDefault() const { return value == tunable->value; }
};

/// Returns a choice for each tunable with measured alternatives, in the order
/// of kTunables. A value is chosen if it is faster beyond noise in the mean of
/// its shapes, and slower beyond noise in none. The load's slots weigh shapes;
/// without a load, shapes count equally.
std::vector<TunedChoice> chooseTuning(const MachineCosts &machine,
                                      const Load &load);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_ALTERNATIVES_H
