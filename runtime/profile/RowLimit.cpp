//===- RowLimit.cpp - The limit on verified rows --------------------------===//

#include "runtime/profile/RowLimit.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstdio>

using namespace mtp;
using namespace mtp::profile;

/// The gain from which a limit counts.
static constexpr double kLeastGain = 1.01;

namespace {
/// Expected speed of rounds by the limit on their rows.
class RowSpeed {
public:
  RowSpeed(const NodeRates &rates, RoundCosts costs, const Load &load,
           const std::vector<Path> &nodes, uint32_t slots)
      : costs(std::move(costs)),
        shares(slotShares(load, std::min(slots, this->costs.mostSlots()))) {
    for (const Path &path : nodes)
      tokens.push_back(tokens.back() + rates.pathRate(path));
    for (const auto &[count, share] : shares)
      drafting[count] = this->costs.drafting(nodes, count);
  }

  /// Returns the tokens per second over plain steps.
  double gain(uint32_t limit) const {
    double sum = 0;
    for (const auto &[slots, share] : shares) {
      uint32_t rows = std::min(slots * window(), limit);
      sum += share * tokensOf(rows, slots) * costs.target(slots) /
             (costs.target(rows) + drafting.at(slots));
    }
    return sum;
  }

  uint32_t window() const { return uint32_t(tokens.size()) - 1; }

private:
  /// Returns the mean tokens of a slot. Slots have equal rows, and the first of
  /// them one more if there is a remainder (trimRows() of runtime/exec).
  double tokensOf(uint32_t rows, uint32_t slots) const {
    uint32_t each = rows / slots, more = rows % slots;
    double sum = (slots - more) * tokens[each];
    if (more > 0)
      sum += more * tokens[each + 1];
    return sum / slots;
  }

  RoundCosts costs;
  std::map<uint32_t, double> shares, drafting;
  /// Tokens of a slot by its rows: the anchor's row alone gives one token.
  std::vector<double> tokens = {0, 1};
};
} // namespace

Result<RowLimit> profile::chooseRowLimit(const Profile &profile,
                                         const MachineCosts &machine,
                                         const std::vector<Path> &nodes,
                                         uint32_t slots) {
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  MTP_ASSIGN_OR_RETURN(NodeRates rates, NodeRates::of(profile));
  MTP_ASSIGN_OR_RETURN(RoundCosts costs, RoundCosts::of(machine, drafts));
  RowSpeed speed(rates, std::move(costs), profile.load, nodes, slots);
  RowLimit limit;
  limit.allRows = slots * speed.window();
  double whole = speed.gain(limit.allRows);
  for (uint32_t rows = limit.allRows - 1; rows >= slots && rows > 0; --rows) {
    double gain = speed.gain(rows) / whole;
    if (gain < kLeastGain || gain <= limit.gain)
      continue;
    limit.gain = gain;
    limit.rows = rows;
  }
  return limit;
}

std::string profile::rowLimitText(const RowLimit &limit) {
  if (limit.rows == 0)
    return strCat("verified rows: all ", limit.allRows, "; no limit pays\n");
  char text[80];
  std::snprintf(text, sizeof(text),
                "%.2f of the tokens per second without a limit", limit.gain);
  return strCat("verified rows: at most ", limit.rows, " of ", limit.allRows,
                ", ", text, " (--max-verify-tokens=profile)\n");
}
