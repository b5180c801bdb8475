//===- Profile.cpp - Measurements of a model on machines ------------------===//

#include "runtime/profile/Profile.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::profile;

/// The number of runs beyond which older runs of a program lose weight.
static constexpr uint64_t kMostRuns = 512;

/// The number of rounds of all shapes beyond which older rounds lose weight.
static constexpr uint64_t kMostRounds = uint64_t(1) << 21;

/// Half of the distance between quartiles, and the deviation of a median, in
/// deviations of a normal distribution.
static constexpr double kQuartile = 0.6745, kMedian = 1.2533;

double Cost::doubt() const {
  return (upper - lower) / 2 / lower / kQuartile * kMedian /
         std::sqrt(std::max(double(count), 1.0));
}

std::string GpuSettings::text() const {
  auto rate = [](uint32_t clock) {
    return clock ? strCat(clock / 1000, " MHz") : "unknown clock";
  };
  return strCat("driver ",
                driver ? strCat(driver / 1000, ".", driver % 1000 / 10)
                       : "unknown",
                ", ", rate(clock), ", memory ", rate(memoryClock));
}

Outcomes profile::Profile::allOutcomes() const {
  Outcomes all;
  for (const Outcomes &some : outcomes)
    all.add(some);
  return all;
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

/// Merges the times of runs of one shape: of a program, or of launches.
template <typename CostT>
static void mergeTimes(CostT &into, const CostT &from) {
  uint64_t old = std::min(into.count, kMostRuns);
  double share = double(from.count) / double(old + from.count);
  auto mix = [share](double &a, double b) { a += (b - a) * share; };
  mix(into.lower, from.lower);
  mix(into.median, from.median);
  mix(into.upper, from.upper);
  // Rounding may have changed the order of quartiles that hardly differ.
  into.median = std::max(into.median, into.lower);
  into.upper = std::max(into.upper, into.median);
  double positions = double(into.positions);
  mix(positions, double(from.positions));
  // The mean stays in the bucket of both.
  into.positions =
      std::clamp(uint64_t(positions), std::min(into.positions, from.positions),
                 std::max(into.positions, from.positions));
  into.count = std::min(old + from.count, kMostCount);
}

static void mergeCost(Cost &into, const Cost &from) {
  mergeTimes(into, from);
  into.nodes = std::max(into.nodes, from.nodes);
}

/// Adds costs, which `merge` merges with costs of their shapes. The costs with
/// the fewest runs are dropped first.
template <typename CostT>
static void mergeCosts(std::vector<CostT> &into, const std::vector<CostT> &from,
                       size_t most, void (*merge)(CostT &, const CostT &)) {
  for (const CostT &cost : from) {
    auto same = std::ranges::find_if(
        into, [&](const CostT &of) { return of.isOfShape(cost); });
    if (same == into.end())
      into.push_back(cost);
    else
      merge(*same, cost);
  }
  if (into.size() <= most)
    return;
  std::ranges::stable_sort(into, std::greater(), &CostT::count);
  into.resize(most);
}

/// Merges alternatives. Those of one value and shape become means, weighed by
/// pairs.
static void mergeAlternatives(std::vector<Alternative> &into,
                              const std::vector<Alternative> &from) {
  for (const Alternative &one : from) {
    auto same = std::ranges::find_if(
        into, [&](const Alternative &other) { return other.isOfShape(one); });
    if (same == into.end()) {
      if (into.size() < kMostAlternatives)
        into.push_back(one);
      continue;
    }
    double own = double(one.pairs), before = double(same->pairs);
    double all = own + before;
    same->ratio = (same->ratio * before + one.ratio * own) / all;
    same->error = std::hypot(same->error * before, one.error * own) / all;
    same->pairs = std::min(same->pairs + one.pairs, kMostCount);
  }
}

/// Adds choices, which replace older ones of their products.
static void mergeGemms(std::vector<GemmChoice> &into,
                       const std::vector<GemmChoice> &from) {
  for (const GemmChoice &one : from) {
    std::erase_if(into,
                  [&](const GemmChoice &old) { return old.isOfProduct(one); });
    if (into.size() < kMostGemms)
      into.push_back(one);
  }
}

static void mergeMachine(MachineCosts &into, const MachineCosts &from) {
  into.day = std::max(into.day, from.day);
  into.isBusy = from.isBusy;
  mergeAlternatives(into.alternatives, from.alternatives);
  mergeGemms(into.gemms, from.gemms);
  mergeCosts(into.costs, from.costs, kMostCosts, mergeCost);
  mergeCosts(into.launches, from.launches, kMostLaunches,
             mergeTimes<LaunchCost>);
}

static void mergeHistogram(std::vector<uint64_t> &into,
                           const std::vector<uint64_t> &from) {
  addCounts(into, from);
  while (std::ranges::any_of(into, [](auto n) { return n > kMostCount; }))
    for (uint64_t &count : into)
      count /= 2;
}

/// Adds numbers of rounds. Older rounds lose weight, and shapes with the fewest
/// rounds are dropped first.
static void mergeRounds(Load &into, const Load &from) {
  for (const auto &[shape, count] : from.rounds)
    into.rounds[shape] += count;
  uint64_t all = 0;
  for (const auto &[shape, count] : into.rounds)
    all += count;
  for (; all > kMostRounds; all /= 2)
    for (auto &[shape, count] : into.rounds)
      count /= 2;
  std::erase_if(into.rounds, [](const auto &of) { return of.second == 0; });
  while (into.rounds.size() > kMostRoundShapes)
    into.rounds.erase(std::ranges::min_element(
        into.rounds, {}, [](const auto &of) { return of.second; }));
}

/// Merges outcomes of all kinds. The limits on their numbers hold.
static void mergeAcceptance(profile::Profile &into,
                            const profile::Profile &from) {
  for (const Outcomes &some : from.outcomes) {
    auto same = std::ranges::find_if(
        into.outcomes, [&](const Outcomes &of) { return of.isOfKind(some); });
    if (same != into.outcomes.end())
      same->merge(some);
    else if (into.outcomes.size() < kMostOutcomes)
      into.outcomes.push_back(some);
  }
  for (const KindOutcomes &kind : from.kinds)
    if (Outcomes *own = outcomesOfKind(into.kinds, kind.name))
      own->merge(kind.outcomes);
  into.nodes.merge(from.nodes);
  into.confidence.merge(from.confidence);
  into.tokens.merge(from.tokens);
}

void profile::merge(Profile &into, const Profile &from) {
  if (!from.check.tried.empty())
    into.check = from.check;
  mergeAcceptance(into, from);
  if (from.head.vocab > 0)
    into.head = from.head;
  for (const MachineCosts &machine : from.machines) {
    auto same =
        std::ranges::find_if(into.machines, [&](const MachineCosts &of) {
          return of.isOfMachine(machine);
        });
    if (same != into.machines.end())
      mergeMachine(*same, machine);
    else
      into.machines.push_back(machine);
  }
  std::ranges::stable_sort(into.machines, std::greater(), &MachineCosts::day);
  if (into.machines.size() > kMostMachines)
    into.machines.resize(kMostMachines);
  mergeHistogram(into.load.slots, from.load.slots);
  mergeHistogram(into.load.contexts, from.load.contexts);
  mergeHistogram(into.load.prompts, from.load.prompts);
  mergeHistogram(into.load.outputs, from.load.outputs);
  mergeRounds(into.load, from.load);
}
