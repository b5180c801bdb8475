//===- MeasurePoints.cpp - Time programs in turns -------------------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/measure/Measure.h"
#include "tools/mtp-bench/measure/Workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mtp;
using namespace mtp::bench;

/// Seconds of one turn of one point, and of each rate of the machine, and the
/// smallest and largest number of runs.
static constexpr double kTurnSeconds = 0.1;
static constexpr double kMachineSeconds = 0.04;
static constexpr size_t kLeastRuns = 3, kMostRuns = 200;
/// The limits with --estimate=fastest: long enough for some runs to be
/// undisturbed.
static constexpr double kDisturbedTurnSeconds = 3;
static constexpr size_t kMostDisturbedRuns = 2000;
static constexpr double kDisturbedMachineSeconds = 0.4;

namespace {
/// Measures one point, a turn at a time.
class PointRunner {
public:
  PointRunner(ProgramRunner &runner, const Options &options, Point &point);

  /// Runs the point until it is warm.
  Status warmUp();
  /// Runs one turn; its estimate becomes the last of Point::seconds.
  Status turn();
  /// Computes the medians of the timed runs that were kept.
  void finish();

private:
  struct Timed {
    CommandTimes times;
    double seconds = 0;
  };
  /// Whether one round is repeated in all turns. Rounds differ in the drafts
  /// accepted before and in the experts that their tokens choose. The fastest
  /// of different rounds would be the one with the least work.
  bool repeats() const { return options.estimate == Estimate::Fastest; }
  void place();
  Status collect(std::vector<double> &runs, std::vector<double> &targets);
  double phaseSeconds(const CommandTimes &times) const;

  ProgramRunner &runner;
  const Options &options;
  Point &point;
  std::vector<double> rates;
  std::mt19937_64 luck;
  std::vector<Timed> timed;
  std::vector<double> fastestTimed;
  /// The states before the repeated round.
  std::vector<uint8_t> start;
};
} // namespace

PointRunner::PointRunner(ProgramRunner &runner, const Options &options,
                         Point &point)
    : runner(runner), options(options), point(point), rates(options.acceptance),
      luck(options.seed) {
  // Without given acceptance: a round after one that accepted all drafts has
  // the most rows to refresh.
  if (rates.empty())
    rates.assign(point.k, 1.0);
  point.nodes = runner.programs().nodes(point.k);
  point.program = runner.programs().decode(
      point.batch, point.k, uint64_t(point.context) + point.nodes);
  const Program &program = runner.programAt(point.program);
  point.hasExperts = hasExperts(runner.plan(), program);
  point.boundBytes = boundWeightBytes(runner.plan(), program);
  std::vector<std::string> phases = phasesOf(runner.plan(), program);
  for (size_t i = 0; i < phases.size(); ++i) {
    const Command &command = program.commands[i];
    const schema::Kernel &kernel = runner.plan().kernelOf(command);
    CommandResult result;
    result.phase = phases[i];
    result.kind = kindOf(kernel);
    result.symbol = kernel.symbol()->str();
    result.work = commandWork(runner.artifact(), runner.plan(), program,
                              command, point.batch, point.context);
    point.commands.push_back(std::move(result));
  }
}

void PointRunner::place() {
  runner.activate(point.batch);
  for (uint32_t slot = 0; slot < point.batch; ++slot) {
    double draw = double(luck() >> 11) * 0x1p-53;
    uint32_t limit = options.drafts.empty()
                         ? point.k
                         : options.drafts[slot % options.drafts.size()];
    runner.place(slot, point.context, acceptedDrafts(rates, point.k, draw),
                 limit);
  }
}

Status PointRunner::warmUp() {
  for (int i = 0; i < 2; ++i) {
    place();
    MTP_RETURN_IF_ERROR(runner.run(point.program, point.batch).status());
  }
  if (repeats()) {
    place();
    start = runner.saveStates();
  }
  return okStatus();
}

bool bench::needsAnotherRun(const Options &options,
                            const std::vector<double> &seconds,
                            const std::vector<double> &before) {
  if (options.rounds)
    return seconds.size() < options.rounds;
  if (seconds.size() < kLeastRuns)
    return true;
  double spent = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  if (options.estimate == Estimate::Median)
    return spent < kTurnSeconds && seconds.size() < kMostRuns;
  if (seconds.size() >= kMostDisturbedRuns)
    return false;
  std::vector<double> all = before;
  keepFastest(all, seconds);
  return spent < kTurnSeconds ||
         (spent < kDisturbedTurnSeconds && !hasComeAgain(all));
}

void bench::keepFastest(std::vector<double> &fastest,
                        const std::vector<double> &runs) {
  fastest.insert(fastest.end(), runs.begin(), runs.end());
  std::sort(fastest.begin(), fastest.end());
  fastest.resize(std::min(fastest.size(), kAgreeing));
}

/// Returns the target's part of a run, measured on worker 0, whose times have
/// no gaps.
double PointRunner::phaseSeconds(const CommandTimes &times) const {
  uint64_t sum = 0;
  std::span<const CommandTime> first = times.of(0);
  for (size_t i = 0; i < first.size(); ++i)
    if (isTargetPhase(point.commands[i].phase))
      sum += first[i].released - first[i].begin;
  return double(sum) * 1e-9;
}

/// Collects the runs of one turn, and the target's time in the timed ones.
Status PointRunner::collect(std::vector<double> &runs,
                            std::vector<double> &targets) {
  auto next = [&] { repeats() ? runner.restoreStates(start) : place(); };
  uint32_t rounds = options.session.roundsPerLaunch;
  runner.activate(point.batch);
  while (needsAnotherRun(options, runs, point.fastest)) {
    next();
    Result<double> seconds =
        rounds > 1 ? runner.runRounds(point.program, point.batch, rounds)
                   : runner.run(point.program, point.batch);
    MTP_RETURN_IF_ERROR(seconds.status());
    runs.push_back(*seconds);
  }
  point.activeRows =
      runner.activeRows(point.program, point.batch, rounds) / rounds;
  // One timed run per three runs; the fastest timed one must come again, too.
  std::vector<double> all;
  for (size_t least = (runs.size() + 2) / 3;
       all.size() < least ||
       (repeats() && needsAnotherRun(options, all, fastestTimed));) {
    next();
    Timed run;
    MTP_ASSIGN_OR_RETURN(
        run.seconds, runner.runTimed(point.program, point.batch, run.times));
    targets.push_back(phaseSeconds(run.times));
    all.push_back(run.seconds);
    timed.push_back(std::move(run));
  }
  keepFastest(fastestTimed, all);
  return okStatus();
}

Status PointRunner::turn() {
  std::vector<double> runs, targets;
  MTP_RETURN_IF_ERROR(collect(runs, targets));
  point.rounds += runs.size();
  keepFastest(point.fastest, runs);
  point.seconds.push_back(estimateSeconds(std::move(runs), options.estimate));
  point.targetSeconds.push_back(
      estimateSeconds(std::move(targets), options.estimate));
  if (repeats()) {
    // Keep the commands of one run: the fastest times of single commands would
    // add up to less than any run.
    auto fastest = std::min_element(
        timed.begin(), timed.end(),
        [](const Timed &a, const Timed &b) { return a.seconds < b.seconds; });
    std::swap(timed.front(), *fastest);
    timed.resize(1);
  }
  return okStatus();
}

void PointRunner::finish() {
  std::vector<double> wall(timed.size()), busy(timed.size()),
      wait(timed.size()), whole;
  for (size_t c = 0; c < point.commands.size(); ++c) {
    for (size_t run = 0; run < timed.size(); ++run) {
      const CommandTimes &times = timed[run].times;
      const CommandTime &first = times.of(0)[c];
      wall[run] = double(first.released - first.begin) * 1e-9;
      double work = 0, waited = 0;
      for (uint32_t w = 0; w < times.workers(); ++w) {
        work += double(times.of(w)[c].work());
        waited += double(times.of(w)[c].wait());
      }
      busy[run] = work / times.workers() * 1e-9;
      wait[run] = waited / times.workers() * 1e-9;
    }
    CommandResult &result = point.commands[c];
    result.wall = median(wall);
    result.busy = median(busy);
    result.wait = median(wait);
  }
  for (const Timed &run : timed)
    whole.push_back(run.seconds);
  double middle = median(whole);
  auto nearest = std::min_element(
      timed.begin(), timed.end(), [&](const Timed &a, const Timed &b) {
        return std::fabs(a.seconds - middle) < std::fabs(b.seconds - middle);
      });
  point.sample = std::move(nearest->times);
}

static std::string describe(const Point &point) {
  return strCat("batch ", point.batch, ", k = ", point.k, ", context ",
                point.context);
}

Status bench::measurePoints(ProgramRunner &runner, const Options &options,
                            Machine &machine, Results &results) {
  std::vector<PointRunner> runners;
  runners.reserve(results.points.size());
  for (Point &point : results.points)
    MTP_RETURN_IF_ERROR(runners.emplace_back(runner, options, point).warmUp());
  double seconds = options.estimate == Estimate::Fastest
                       ? kDisturbedMachineSeconds
                       : kMachineSeconds;
  for (uint32_t turn = 0; turn < options.turns; ++turn) {
    results.machine.push_back(machine.measure(seconds));
    for (size_t i = 0; i < runners.size(); ++i) {
      MTP_RETURN_IF_ERROR(runners[i].turn());
      const Point &point = results.points[i];
      reportTurn(options, turn, describe(point), point.seconds.back());
    }
  }
  for (PointRunner &runner : runners)
    runner.finish();
  return okStatus();
}
