//===- RowLimit.h - The limit on verified rows ------------------*- C++ -*-===//
//
// A round verifies the drafts of all slots. If many slots run, rows of drafts
// that are seldom accepted take more time than they save. A limit on the rows
// of all slots together (max_rows of the envelope) trims each slot's last
// drafts.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_ROWLIMIT_H
#define MTP_RUNTIME_PROFILE_ROWLIMIT_H

#include "runtime/core/Result.h"
#include "runtime/profile/TreeChoice.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::profile {

/// A limit on the verified rows of all slots together.
struct RowLimit {
  /// 0: no limit pays.
  uint32_t rows = 0;
  /// Rows without a limit.
  uint32_t allRows = 0;
  /// Tokens per second over rounds without a limit.
  double gain = 1;
};

/// Chooses the limit with the most tokens per second, a mean over the profile's
/// load, of at least one row for each of `slots`. `nodes` are the drafts of a
/// slot in the order of their rows. A gain of less than 1 % counts as none.
/// Among equal limits the largest counts. Fails if the profile lacks acceptance
/// or costs.
Result<RowLimit> chooseRowLimit(const Profile &profile,
                                const MachineCosts &machine,
                                const std::vector<Path> &nodes, uint32_t slots);

/// Returns a choice as a line of text.
std::string rowLimitText(const RowLimit &limit);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_ROWLIMIT_H
