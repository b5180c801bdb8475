//===- Resample.h - How noise changes a prediction --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_RESAMPLE_H
#define MTP_TOOLS_MTP_TUNE_RESAMPLE_H

#include "runtime/profile/Profile.h"

#include <functional>
#include <optional>
#include <vector>

namespace mtp::tune {

/// Returns the gain of a decision by a profile and one of its machines; nothing
/// if they do not allow the decision.
using GainOf = std::function<std::optional<double>(
    const profile::Profile &, const profile::MachineCosts &)>;

/// Copies of a profile with one machine. Counts and times of a copy differ from
/// the profile's by as much as a second measurement would.
class Resamples {
public:
  Resamples(const profile::Profile &profile,
            const profile::MachineCosts &machine);

  /// Returns one deviation of a gain, of which each copy makes the decision
  /// anew; nothing if a copy does not allow it.
  std::optional<double> doubtOf(const GainOf &gainOf) const;

private:
  std::vector<profile::Profile> copies;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_RESAMPLE_H
