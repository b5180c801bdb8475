//===- ProfileRecorder.cpp - Measures a session for a profile -------------===//

#include "runtime/exec/ProfileRecorder.h"
#include "runtime/profile/ProfileKeys.h"

#include <algorithm>
#include <ctime>

using namespace mtp;

/// The number of runs from which a cost is written: first runs may read weights
/// from a disk.
static constexpr uint64_t kLeastRuns = 4;

static constexpr int64_t kSecondsOfDay = 86'400;

ProfileRecorder::ProfileRecorder(const Plan &plan)
    : programs(profile::programKeysOf(plan)) {}

void ProfileRecorder::addCost(profile::Cost shape, uint32_t program,
                              double seconds) {
  if (!(seconds > 0) || seconds > profile::kMostSeconds)
    return;
  shape.program = programs[program];
  Key key{shape.work,  shape.program,
          shape.batch, shape.k,
          shape.rows,  profile::bucketOf(shape.positions / shape.batch)};
  auto found = cells.find(key);
  if (found == cells.end()) {
    if (cells.size() >= profile::kMostCosts)
      return;
    found = cells.emplace(key, Cell()).first;
    found->second.shape = shape;
  }
  Cell &cell = found->second;
  cell.seconds[cell.count % cell.seconds.size()] = seconds;
  ++cell.count;
  cell.positions +=
      (double(shape.positions) - cell.positions) / double(cell.count);
}

void ProfileRecorder::addOutcome(bool isSampled, uint64_t context,
                                 uint32_t drafts, uint32_t accepted) {
  profile::Outcomes kind;
  kind.isSampled = isSampled;
  kind.context =
      std::min<uint32_t>(profile::bucketOf(context), profile::kMostBuckets - 1);
  profile::countIn(load.contexts, context);
  auto same = std::ranges::find_if(
      outcomes, [&](const profile::Outcomes &of) { return of.isOfKind(kind); });
  if (same == outcomes.end())
    same = outcomes.insert(outcomes.end(), kind);
  same->add(drafts, accepted);
}

profile::Cost ProfileRecorder::Cell::cost() const {
  size_t kept = std::min<size_t>(count, seconds.size());
  std::array<double, 31> sorted = seconds;
  std::sort(sorted.begin(), sorted.begin() + long(kept));
  profile::Cost cost = shape;
  cost.lower = sorted[kept / 4];
  cost.median = sorted[kept / 2];
  cost.upper = sorted[kept - 1 - kept / 4];
  cost.count = std::min(count, profile::kMostCount);
  // The mean of positions of one bucket is in the bucket, except for its
  // rounding.
  auto mean = uint64_t(positions);
  if (profile::bucketOf(mean / cost.batch) ==
      profile::bucketOf(shape.positions / shape.batch))
    cost.positions = mean;
  return cost;
}

profile::Profile ProfileRecorder::profile() const {
  profile::Profile profile;
  profile.outcomes = outcomes;
  profile.load = load;
  profile::MachineCosts machine;
  machine.day = uint32_t(std::time(nullptr) / kSecondsOfDay);
  for (const auto &[key, cell] : cells)
    if (cell.count >= kLeastRuns)
      machine.costs.push_back(cell.cost());
  profile.machines.push_back(std::move(machine));
  return profile;
}
