//===- ProfileRecorder.cpp - Measures a session for a profile -------------===//

#include "runtime/exec/ProfileRecorder.h"

#include <algorithm>
#include <ctime>

using namespace mtp;

/// The number of runs from which a cost is written: first runs may read weights
/// from a disk.
static constexpr uint64_t kLeastRuns = 4;

/// The number of launches from which their cost is written. mtp-tune starts few
/// long ones.
static constexpr uint64_t kLeastLaunches = 2;

static constexpr std::time_t kSecondsOfDay = 86'400;

ProfileRecorder::ProfileRecorder(const Artifact &artifact,
                                 const profile::ProgramKeys &programs)
    : programs(programs) {
  if (artifact.envelope && artifact.envelope->tree())
    tree = {artifact.envelope->tree()->data(),
            artifact.envelope->tree()->size()};
}

/// Returns whether a time can be in a profile.
static bool isTime(double seconds) {
  return seconds >= profile::kLeastSeconds && seconds <= profile::kMostSeconds;
}

template <typename CostT>
void ProfileRecorder::Cell<CostT>::add(const CostT &of, double time) {
  if (count == 0)
    shape = of;
  seconds[count % seconds.size()] = time;
  ++count;
  positions += (double(of.positions) - positions) / double(count);
}

/// Returns the cell of a key, which may be new; null if there are `most` other
/// cells.
template <typename MapT>
static typename MapT::mapped_type *
cellOf(MapT &cells, const typename MapT::key_type &key, size_t most) {
  auto found = cells.find(key);
  if (found == cells.end()) {
    if (cells.size() >= most)
      return nullptr;
    found = cells.try_emplace(key).first;
  }
  return &found->second;
}

void ProfileRecorder::addLaunch(profile::LaunchCost shape, uint32_t program,
                                double seconds) {
  if (!isTime(seconds))
    return;
  shape.program = programs.all()[program];
  LaunchKey key{shape.program, shape.batch, shape.k, shape.rounds,
                profile::bucketOf(shape.positions / shape.batch)};
  if (auto *cell = cellOf(launches, key, profile::kMostLaunches))
    cell->add(shape, seconds);
}

void ProfileRecorder::addCost(profile::Cost shape, uint32_t program,
                              double seconds) {
  if (!isTime(seconds))
    return;
  shape.program = programs.all()[program];
  Key key{shape.work,
          shape.program,
          shape.batch,
          shape.k,
          shape.rows,
          shape.padding,
          profile::bucketOf(shape.positions / shape.batch)};
  if (auto *cell = cellOf(cells, key, profile::kMostCosts))
    cell->add(shape, seconds);
}

void ProfileRecorder::addRound(const RecordedRound &round) {
  profile::Outcomes kind;
  kind.isSampled = round.isSampled;
  kind.context = std::min<uint32_t>(profile::bucketOf(round.context),
                                    profile::kMostBuckets - 1);
  profile::countIn(load.contexts, round.context);
  auto same = std::ranges::find_if(
      outcomes, [&](const profile::Outcomes &of) { return of.isOfKind(kind); });
  if (same == outcomes.end())
    same = outcomes.insert(outcomes.end(), kind);
  same->add(round.drafts, round.accepted);
  if (!round.kind.empty())
    if (profile::Outcomes *named =
            profile::outcomesOfKind(kinds, std::string(round.kind)))
      named->add(round.drafts, round.accepted);
  if (!round.parents.empty())
    nodes.add(round.parents, round.verified, round.path);
  else if (round.isChain)
    nodes.addChain(round.drafts, round.accepted);
  confidence.add(round.confidences, round.accepted);
  countTokens(round);
}

/// Counts the tokens of a round. If the drafts are unknown, accepted ones are
/// in the output. Drafts that the host may have replaced are not the drafter's.
void ProfileRecorder::countTokens(const RecordedRound &round) {
  using Counts = profile::TokenCounts::Counts;
  auto count = [&](int32_t token, uint64_t Counts::*member) {
    if (token < 0)
      return;
    if (size_t(token) >= tokens.size())
      tokens.resize(size_t(token) + 1);
    ++(tokens[size_t(token)].*member);
  };
  for (size_t i = 0; i < round.output.size(); ++i) {
    count(round.output[i], &Counts::output);
    if (i >= round.accepted || round.isReplaced)
      continue;
    count(round.output[i], &Counts::accepted);
    if (round.drafted.empty())
      count(round.output[i], &Counts::drafted);
  }
  for (int32_t token : round.drafted)
    count(token, &Counts::drafted);
}

template <typename CostT>
CostT ProfileRecorder::Cell<CostT>::cost() const {
  size_t kept = std::min<size_t>(count, seconds.size());
  std::array<double, 31> sorted = seconds;
  std::sort(sorted.begin(), sorted.begin() + long(kept));
  CostT cost = shape;
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
  profile.kinds = kinds;
  profile.nodes = nodes;
  profile.confidence = confidence;
  for (uint32_t token = 0; token < tokens.size(); ++token)
    if (tokens[token].output > 0 || tokens[token].drafted > 0)
      profile.tokens.counts.insert_or_assign(profile.tokens.counts.end(), token,
                                             tokens[token]);
  profile::MachineCosts machine;
  // A machine's clock may be wrong.
  machine.day = uint32_t(std::clamp<std::time_t>(
      std::time(nullptr) / kSecondsOfDay, 0, profile::kMostDay));
  for (const auto &[key, cell] : cells)
    if (cell.count >= kLeastRuns)
      machine.costs.push_back(cell.cost());
  for (const auto &[key, cell] : launches)
    if (cell.count >= kLeastLaunches)
      machine.launches.push_back(cell.cost());
  profile.machines.push_back(std::move(machine));
  return profile;
}
