//===- Drafts.cpp - The number of drafts by a profile ---------------------===//

#include "tools/mtp-tune/Drafts.h"
#include "runtime/exec/ProfileCosts.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mtp;
using namespace mtp::tune;

/// The number of outcomes from which a position's rate is used.
static constexpr uint64_t kLeastTried = 20;
std::optional<double> tune::acceptanceLength(const profile::Outcomes &outcomes,
                                             uint32_t k) {
  double length = 1, all = 1;
  for (uint32_t j = 0; j < k; ++j) {
    if (j >= outcomes.tried.size() || outcomes.tried[j] < kLeastTried)
      return std::nullopt;
    all *= double(outcomes.accepted[j]) / double(outcomes.tried[j]);
    length += all;
  }
  return length;
}

std::vector<double> tune::acceptanceOf(const profile::Profile &profile) {
  profile::Outcomes outcomes = profile.allOutcomes();
  std::vector<double> shares;
  double before = 1;
  for (uint32_t k = 1;; ++k) {
    std::optional<double> length = acceptanceLength(outcomes, k);
    if (!length)
      return shares;
    shares.push_back(*length - before);
    before = *length;
  }
}

/// Returns one deviation of the acceptance length as a share of it: of the
/// first position, which matters most.
static double lengthDoubt(const profile::Outcomes &outcomes, uint32_t k,
                          double length) {
  if (k == 0)
    return 0;
  double tried = double(outcomes.tried[0]);
  double rate = double(outcomes.accepted[0]) / tried;
  double deviation = std::sqrt(rate * (1 - rate) / tried);
  return deviation * (length - 1) / (std::max(rate, 1e-9) * length);
}

static Alternative alternativeOf(const profile::Cost &cost, double seconds,
                                 double length) {
  Alternative one;
  one.k = cost.k;
  one.rows = cost.rows;
  one.seconds = seconds;
  one.spread = (cost.upper - cost.lower) / 2 / seconds;
  one.length = length;
  one.rate = cost.batch * length / seconds;
  return one;
}

/// Returns the k that a session with automatic k chooses at its start.
static uint32_t kOfSession(const Decision &of,
                           const DraftPolicy::LearnedCosts &learned) {
  std::vector<uint32_t> rowsByK;
  for (const Alternative &one : of.alternatives) {
    rowsByK.resize(one.k, uint32_t(rowsByK.size()) + 1);
    rowsByK.push_back(one.rows / of.batch);
  }
  DraftPolicy policy(std::move(rowsByK));
  policy.begin(learned);
  std::vector<DraftHistory> histories(of.batch);
  std::vector<DraftPolicy::Slot> slots;
  for (DraftHistory &history : histories)
    slots.push_back(
        {&history, of.alternatives.back().k, of.positions / of.batch});
  return policy.choose(slots).k;
}

/// Fills in gains, and the chosen and the default alternative.
static void compare(Decision &decision, const profile::Outcomes &outcomes,
                    const std::map<uint32_t, profile::Cost> &costs,
                    const DraftPolicy::LearnedCosts &learned) {
  const Alternative plain = decision.alternatives[0];
  uint32_t k = kOfSession(decision, learned);
  for (size_t i = 0; i < decision.alternatives.size(); ++i) {
    Alternative &one = decision.alternatives[i];
    one.gain = one.rate / plain.rate;
    one.doubt = std::hypot(costs.at(one.k).doubt(), costs.at(0).doubt(),
                           lengthDoubt(outcomes, one.k, one.length)) *
                one.gain;
    if (one.k == k)
      decision.best = i;
  }
  decision.defaultChoice = decision.alternatives.size() - 1;
  const Alternative &best = decision.alternatives[decision.best];
  const Alternative &usual = decision.alternatives[decision.defaultChoice];
  decision.gain = best.rate / usual.rate;
  decision.doubt =
      std::hypot(best.doubt / best.gain, usual.doubt / usual.gain) *
      decision.gain;
}

std::vector<Decision> tune::decide(const profile::Profile &profile,
                                   const profile::MachineCosts &machine) {
  profile::Outcomes outcomes = profile.allOutcomes();
  DraftPolicy::LearnedCosts learned = takeProfile(profile, machine).learned;
  // By slots and context, the cost of each k. Rounds with fewer rows than they
  // could have are other choices.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, profile::Cost>>
      shapes;
  for (const profile::Cost &cost : machine.costs) {
    if (!cost.isPlainRound())
      continue;
    uint32_t context = profile::bucketOf(cost.positions / cost.batch);
    auto [found, isNew] =
        shapes[{cost.batch, context}].try_emplace(cost.k, cost);
    if (!isNew && cost.rows > found->second.rows)
      found->second = cost;
  }
  std::vector<Decision> decisions;
  for (const auto &[shape, costs] : shapes) {
    if (!costs.contains(0))
      continue;
    Decision decision;
    decision.batch = shape.first;
    decision.context = shape.second;
    for (const auto &[k, cost] : costs)
      if (auto length = acceptanceLength(outcomes, k))
        decision.alternatives.push_back(
            alternativeOf(cost, machine.secondsOf(cost), *length));
    // Steps while other prompts were read are no choice.
    if (decision.alternatives.size() < 2)
      continue;
    decision.positions = costs.begin()->second.positions;
    compare(decision, outcomes, costs, learned);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}
