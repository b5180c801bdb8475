//===- Alternatives.cpp - Costs of what a compiler could choose -----------===//

#include "runtime/profile/Alternatives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

using namespace mtp;
using namespace mtp::profile;

/// Standard errors within which a difference is noise: 99 of 100 intervals have
/// the true mean. Several values are compared with one default.
static constexpr double kNoise = 2.58;
/// Gain below which a value is not worth another artifact.
static constexpr double kLeastGain = 0.005;

namespace {
/// The mean over the shapes of a value.
struct ValueMean {
  double weight = 0, ratio = 0, variance = 0;
  size_t shapes = 0;
  bool isSlowerSomewhere = false;

  void add(const Alternative &one, double own) {
    weight += own;
    ratio += own * one.ratio;
    variance += own * own * one.error * one.error;
    ++shapes;
    isSlowerSomewhere |= one.ratio - kNoise * one.error > 1;
  }
  double mean() const { return ratio / weight; }
  double error() const { return std::sqrt(variance) / weight; }
};
} // namespace

/// Returns the weight of rounds of a number of slots: the share of rounds in
/// its bucket, and a little, so that no shape counts for nothing.
static double weightOf(uint32_t batch, std::span<const uint64_t> slots) {
  double all = 0;
  for (uint64_t count : slots)
    all += double(count);
  if (all == 0)
    return 1;
  uint32_t bucket = bucketOf(batch);
  return 0.01 + (bucket < slots.size() ? double(slots[bucket]) / all : 0);
}

std::vector<TunedChoice> profile::chooseTuning(const MachineCosts &machine,
                                               const Load &load) {
  std::map<std::string_view, std::map<int64_t, ValueMean>> means;
  for (const Alternative &one : machine.alternatives)
    means[one.tunable][one.value].add(one, weightOf(one.batch, load.slots));
  std::vector<TunedChoice> choices;
  for (const Tunable &tunable : kTunables) {
    auto measured = means.find(tunable.name);
    if (measured == means.end())
      continue;
    auto best = std::ranges::min_element(
        measured->second, [](const auto &a, const auto &b) {
          return a.second.mean() < b.second.mean();
        });
    const ValueMean &mean = best->second;
    bool pays = mean.mean() + kNoise * mean.error() < 1 &&
                mean.mean() < 1 - kLeastGain && !mean.isSlowerSomewhere;
    choices.push_back({&tunable, pays ? best->first : tunable.value,
                       best->first, mean.mean(), mean.error(), mean.shapes,
                       mean.isSlowerSomewhere});
  }
  return choices;
}
