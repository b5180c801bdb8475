//===- ProfileCosts.cpp - What a session takes from a profile -------------===//

#include "runtime/exec/ProfileCosts.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/DeviceLoop.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mtp;
using profile::Cost;

/// The number of outcomes from which a rate is used, and the number for which
/// it stands afterwards: new texts may differ.
static constexpr uint64_t kLeastTried = 20;
static constexpr double kMostTried = 64;

/// The number of rounds beyond which a cost has no more weight.
static constexpr uint64_t kMostWeight = 31;

/// The number of passes that a cost model of passes gets.
static constexpr size_t kMostPasses = 6;

/// Returns the costs of a GPU among all costs of its name. Costs without
/// settings stand for all settings.
static const profile::MachineCosts *
findSettings(const std::vector<const profile::MachineCosts *> &named,
             const profile::GpuSettings &settings,
             std::vector<std::string> &notes) {
  std::string others;
  for (const profile::MachineCosts *of : named) {
    if (of->gpu == settings)
      return of;
    if (!of->gpu.isUnknown())
      others += strCat(others.empty() ? "" : "; ", of->gpu.text());
  }
  for (const profile::MachineCosts *of : named)
    if (of->gpu.isUnknown()) {
      notes.push_back(strCat("machines.driver: expected costs of ",
                             settings.text(),
                             ", found no driver and no clocks; the costs may "
                             "be of other settings"));
      return of;
    }
  notes.push_back(strCat("machines.driver: expected costs of ", settings.text(),
                         ", found ", others, "; costs are not used"));
  return nullptr;
}

/// Returns the costs of a machine; null if there are none. Fails if the profile
/// is of other machines.
static Result<const profile::MachineCosts *>
findMachine(const profile::Profile &profile, const profile::MachineKey &machine,
            std::vector<std::string> &notes) {
  std::string others, counts;
  std::vector<const profile::MachineCosts *> named;
  for (const profile::MachineCosts &of : profile.machines)
    if (of.name != machine.name)
      others += strCat(others.empty() ? "'" : ", '", of.name, "'");
    else if (of.threads != machine.threads)
      counts += strCat(counts.empty() ? "" : ", ", of.threads);
    else
      named.push_back(&of);
  if (!named.empty())
    return findSettings(named, machine.gpu, notes);
  if (!counts.empty()) {
    notes.push_back(strCat("machines.threads: expected ", machine.threads,
                           ", got ", counts, "; costs are not used"));
    return nullptr;
  }
  if (!others.empty())
    return failedPrecondition(strCat("machines.name: expected '", machine.name,
                                     "', this machine, got ", others));
  notes.push_back("machines: expected costs, got none");
  return nullptr;
}

using Measured = RoundCostModel::Measured;

namespace {
/// The mean of the measured rounds of a batch and a k.
struct MeanRound {
  double count = 0, rows = 0, positions = 0, seconds = 0;

  void add(const Measured &one) {
    ++count;
    rows += (one.work.rows - rows) / count;
    positions += (double(one.work.positions) - positions) / count;
    seconds += (one.seconds - seconds) / count;
  }
};
} // namespace

/// Adds the batches between two measured batches, so that no number of slots
/// begins with trials. At each context their times lie on a line between the
/// measured times.
static void fillBatches(std::vector<Measured> &measured) {
  // By k and bucket of a slot's positions.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, MeanRound>> means;
  for (const Measured &one : measured) {
    const RoundCostModel::Work &of = one.work;
    if (of.padding > 0)
      continue;
    means[{of.k, profile::bucketOf(of.positions / of.batch)}][of.batch].add(
        one);
  }
  for (const auto &[key, batches] : means)
    for (auto low = batches.begin(), high = low; ++high != batches.end();
         low = high) {
      const MeanRound &a = low->second, &b = high->second;
      for (uint32_t batch = low->first + 1; batch < high->first; ++batch) {
        double share =
            double(batch - low->first) / double(high->first - low->first);
        auto between = [share](double from, double to) {
          return from + (to - from) * share;
        };
        measured.push_back(
            {{batch, key.first, uint32_t(std::lround(between(a.rows, b.rows))),
              uint64_t(between(a.positions, b.positions))},
             between(a.seconds, b.seconds)});
      }
    }
}

/// Keeps passes of some sizes, the smallest and the largest among them: a model
/// of passes remembers only a few.
static void keepSome(std::vector<ProfileCosts::Pass> &passes) {
  std::ranges::sort(passes, {}, &ProfileCosts::Pass::rows);
  if (passes.size() <= kMostPasses)
    return;
  std::vector<ProfileCosts::Pass> some;
  for (size_t i = 0; i < kMostPasses; ++i)
    some.push_back(passes[i * (passes.size() - 1) / (kMostPasses - 1)]);
  passes = std::move(some);
}

/// Takes the costs of a plan's programs; null: of all programs.
static void takeCosts(const profile::MachineCosts &machine,
                      const profile::ProgramKeys *programs,
                      ProfileCosts &into) {
  std::vector<Measured> measured;
  size_t others = 0;
  for (const Cost &cost : machine.costs)
    if (programs && !programs->contains(cost.program))
      ++others;
    else if (cost.work == profile::Work::Prefill)
      into.prefills.push_back({cost.rows, machine.secondsOf(cost)});
    else
      measured.push_back(
          {{cost.batch, cost.k, cost.rows, cost.positions, cost.padding},
           machine.secondsOf(cost),
           double(std::min(cost.count, kMostWeight))});
  for (const Measured &one : measured)
    if (one.work.padding == 0)
      into.rounds.push_back({one.work.rows, one.seconds});
  keepSome(into.prefills);
  keepSome(into.rounds);
  if (others > 0)
    into.notes.push_back(
        strCat("machines.costs.program: ", others, " of ", machine.costs.size(),
               " costs are of programs that the artifact does not have"));
  if (machine.isBusy)
    into.notes.push_back("machines.busy: other processes disturbed the "
                         "measurement; costs may be too high");
  fillBatches(measured);
  into.learned.cost.begin(measured);
}

/// Takes the acceptance of positions with enough outcomes.
static void takeOutcomes(const profile::Profile &profile, ProfileCosts &into) {
  profile::Outcomes all = profile.allOutcomes();
  for (size_t j = 0; j < all.tried.size(); ++j) {
    if (all.tried[j] < kLeastTried) {
      into.notes.push_back(strCat(
          "outcomes.tried: expected ", kLeastTried, " or more of draft ", j + 1,
          ", got ", all.tried[j], "; it and later drafts are left out"));
      return;
    }
    double tried = std::min(double(all.tried[j]), kMostTried);
    double rate = double(all.accepted[j]) / double(all.tried[j]);
    into.learned.all.begin(tried, rate);
    into.learned.usual.push_back(rate);
    into.learned.evidence.push_back(tried);
  }
}

/// Takes the acceptance of kinds of requests, as far as there are enough
/// outcomes, and how much the kinds differ.
static void takeKinds(const profile::Profile &profile, ProfileCosts &into) {
  std::vector<DraftPolicy::KindCount> first;
  for (const profile::KindOutcomes &kind : profile.kinds) {
    std::vector<double> rates;
    const profile::Outcomes &of = kind.outcomes;
    for (size_t j = 0; j < of.tried.size() && of.tried[j] >= kLeastTried; ++j)
      rates.push_back(double(of.accepted[j]) / double(of.tried[j]));
    if (rates.empty())
      continue;
    first.push_back({of.tried[0], of.accepted[0]});
    into.kinds.emplace(kind.name, std::move(rates));
  }
  into.learned.spread = DraftPolicy::spreadOf(first);
}

Result<ProfileCosts> mtp::matchProfile(const profile::Profile &profile,
                                       const profile::ProgramKeys &programs,
                                       const profile::MachineKey &machine) {
  ProfileCosts costs;
  MTP_ASSIGN_OR_RETURN(const profile::MachineCosts *own,
                       findMachine(profile, machine, costs.notes));
  costs.machine = own;
  if (own)
    takeCosts(*own, &programs, costs);
  takeOutcomes(profile, costs);
  takeKinds(profile, costs);
  return costs;
}

ProfileCosts mtp::takeProfile(const profile::Profile &profile,
                              const profile::MachineCosts &machine) {
  ProfileCosts costs;
  costs.machine = &machine;
  takeCosts(machine, /*programs=*/nullptr, costs);
  takeOutcomes(profile, costs);
  takeKinds(profile, costs);
  return costs;
}

profile::MachineCosts mtp::costsOfPlan(const profile::MachineCosts &machine,
                                       const profile::ProgramKeys &programs) {
  profile::MachineCosts own;
  own.setKey(machine.key());
  for (const Cost &cost : machine.costs)
    if (programs.contains(cost.program))
      own.costs.push_back(cost);
  for (const profile::LaunchCost &cost : machine.launches)
    if (programs.contains(cost.program))
      own.launches.push_back(cost);
  return own;
}

uint32_t mtp::planRounds(const profile::ProgramKeys &programs,
                         const profile::Profile &profile,
                         const profile::MachineCosts &machine,
                         const profile::LaunchInput &limits) {
  if (machine.launches.empty() || limits.usualRounds == 1)
    return limits.usualRounds;
  auto choice =
      profile::chooseLaunch(profile, costsOfPlan(machine, programs), limits);
  return choice ? choice->rounds : limits.usualRounds;
}

uint64_t mtp::graphNodesOf(const Plan &plan, uint32_t program, bool repeats) {
  uint64_t nodes = 0;
  for (const Command &command : plan.programs[program].ownCommands())
    nodes += !plan.kernelOf(command).for_rules();
  return nodes + kNodesOfGraph + (repeats ? nodes + kNodesOfLoop : 0);
}

/// Returns the programs of rounds without prompts for a k and a number of
/// slots: one for each range of positions.
static std::vector<uint32_t> programsOf(const Plan &plan, uint32_t k,
                                        uint32_t slots) {
  std::vector<uint32_t> programs;
  for (uint32_t i = 0; i < plan.programs.size(); ++i) {
    const Program &of = plan.programs[i];
    if (of.kind == schema::ProgramKind::Decode && of.prompts == 0 &&
        of.k == k && of.covers(slots))
      programs.push_back(i);
  }
  return programs;
}

CapturePlan mtp::planCaptures(const Plan &plan,
                              const profile::ProgramKeys &programs,
                              const profile::MachineCosts &machine,
                              const profile::Load &load,
                              const CaptureLimits &limits) {
  profile::CaptureInput input;
  input.mostSlots = limits.slots;
  input.mostK = limits.k;
  input.mostNodes = kMostRoundNodes;
  input.nodesOf = [&](uint32_t k, uint32_t slots) {
    uint64_t nodes = 0;
    for (uint32_t program : programsOf(plan, k, slots))
      nodes += graphNodesOf(plan, program, limits.repeats);
    return nodes;
  };
  CapturePlan result;
  auto choice =
      profile::chooseCaptures(costsOfPlan(machine, programs), load, input);
  if (!choice)
    return result;
  result.sizes = std::move(choice->sizes);
  for (const profile::CaptureGraph &graph : choice->graphs) {
    if (!graph.isExpected)
      break;
    bool isBuilt = graph.isBuilt;
    for (uint32_t program : programsOf(plan, graph.k, graph.slots)) {
      if (limits.repeats)
        result.launches.push_back(
            {program, graph.slots, /*repeats=*/true, isBuilt, graph.share});
      result.launches.push_back(
          {program, graph.slots, /*repeats=*/false, isBuilt, graph.share});
    }
  }
  return result;
}
