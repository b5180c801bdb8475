//===- Results.h - Results of a measurement ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_RESULTS_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_RESULTS_H

#include "runtime/device/CommandTimes.h"
#include "tools/mtp-bench/measure/Options.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <string>
#include <vector>

namespace mtp::bench {

/// One command of a program: its seconds as the median of the timed runs, or in
/// the fastest of them, and its work.
struct CommandResult {
  std::string phase;
  std::string kind;
  std::string symbol;
  Work work;
  /// Seconds from the release of the previous command to the release of this
  /// one.
  double wall = 0;
  /// Mean seconds of the workers: running the kernel, and waiting for other
  /// workers.
  double busy = 0;
  double wait = 0;
};

/// A program at a batch, a number of drafts and a context.
struct Point {
  uint32_t batch = 1;
  uint32_t k = 0;
  uint32_t context = 0;
  uint32_t program = 0;
  /// Rows per slot in a round with a tree; 0: a chain, which has k + 1 rows.
  uint32_t nodes = 0;
  uint32_t rows() const { return batch * (nodes ? nodes : k + 1); }

  /// Active rows in the last round, which may be fewer than the round has.
  double activeRows = 0;
  /// Number of rounds run in all turns, without timed runs.
  uint64_t rounds = 0;
  /// The fastest runs of all turns, and whether they agree.
  std::vector<double> fastest;
  bool isSettled() const { return hasComeAgain(fastest); }
  /// Estimated seconds of a run, one estimate per turn. `targetSeconds` is the
  /// target's part, from timed runs.
  std::vector<double> seconds;
  std::vector<double> targetSeconds;
  std::vector<CommandResult> commands;
  /// The run whose times are nearest to the median.
  CommandTimes sample;
  bool hasExperts = false;
  uint64_t boundBytes = 0;

  /// Sums over all commands, or only over the target's.
  double bytes(bool targetOnly) const;
  double ops(bool targetOnly) const;
  /// Returns the sum of the commands' limits: commands do not overlap.
  double limit(const Rates &rates, bool targetOnly) const;
};

/// The commands of one phase, or of one kind, together.
struct Group {
  explicit Group(std::string name) : name(std::move(name)) {}
  std::string name;
  uint32_t commands = 0;
  double wall = 0;
  double busy = 0;
  double wait = 0;
  double bytes = 0;
  double ops = 0;
  double limit = 0;
};
std::vector<Group> groupByPhase(const Point &point, const Rates &rates);
/// Groups commands by kind, the longest first.
std::vector<Group> groupByKind(const Point &point, const Rates &rates);

/// Returns whether a phase is the target's, which a step without drafts
/// consists of.
bool isTargetPhase(std::string_view phase);

struct PrefillResult {
  uint32_t tokens = 0;
  bool modules = false;
  /// Number of runs in all turns.
  uint64_t rounds = 0;
  /// The fastest runs of all turns.
  std::vector<double> fastest;
  /// Estimated seconds, one estimate per turn.
  std::vector<double> seconds;
};

/// Rounds of k drafts compared with plain steps.
struct SpeculativeResult {
  uint32_t batch = 1;
  uint32_t context = 0;
  uint32_t k = 0;
  /// The estimate of a round's seconds over all turns, and how the turns
  /// differed.
  double seconds = 0;
  Summary spread;
  /// The time of a round divided by the time of a plain step.
  double ratio = 0;
  /// The ratio if the round and the plain step take no longer than their
  /// limits; NaN with --ids.
  double limitRatio = 0;
  /// Tokens per round and slot; NaN if acceptance was not given.
  double acceptanceLength = 0;
  /// Acceptance of the draft at each position, with --ids.
  std::vector<double> accepted;
  double tokensPerSecond = 0;
  double speedup = 0;
};

/// Whole sessions with a fixed or an automatic k, by wall clock.
struct SessionResult {
  uint32_t batch = 1;
  uint32_t k = 0;
  bool isAutomatic = false;
  /// Tokens per second in each turn.
  std::vector<double> tokensPerSecond;
  /// Number of rounds of each k, in all turns together.
  std::vector<uint64_t> rounds;
  /// Number of these rounds with padding slots.
  uint64_t paddedRounds = 0;
};

struct Results {
  std::string model;
  std::string producer;
  std::string processor;
  /// The processor's instructions that kernels use: "AVX-512, bf16, VNNI".
  std::string features;
  uint32_t processors = 0;
  /// The date of the measurement, for example "2026-11-23".
  std::string date;
  /// Number of threads; zero for a GPU.
  uint32_t threads = 0;
  bool pinned = false;
  uint64_t fileWeightBytes = 0;
  /// The formats of the weights, for example "int4 0.56 GB, bf16 0.13 GB".
  std::string formats;
  /// The size of the processor's last cache, or of the GPU's.
  uint64_t cacheBytes = 0;
  uint64_t bufferBytes = 0;
  /// The machine's rates: before all else, in every turn, and after all else.
  std::vector<MachineRates> machine;
  /// The estimate of the machine's rates, from which limits are computed.
  Rates rates;
  bool isNoisy = false;
  std::vector<Point> points;
  std::vector<PrefillResult> prefills;
  /// The kernels that multiplied the rows of whole chunks in prefills.
  std::string prefillKernels;
  /// A copy of a slot's recurrent states: its bytes, and its seconds in each
  /// turn, measured after a prompt. Empty if the model has no recurrent states.
  uint64_t snapshotBytes = 0;
  std::vector<double> snapshotSeconds;
  std::vector<SpeculativeResult> speculative;
  std::vector<SessionResult> sessions;

  /// Returns null if the point was not measured.
  const Point *find(uint32_t batch, uint32_t k, uint32_t context) const;
};

/// Returns the point that is profiled: the largest k, then the first
/// batch and context that were asked for.
const Point &profiledPoint(const Results &results, const Options &options);

/// Returns the points that show time by rows at the first context, ascending.
std::vector<const Point *> rowPoints(const Results &results,
                                     const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_RESULTS_H
