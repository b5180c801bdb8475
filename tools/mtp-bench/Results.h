//===- Results.h - What was measured ----------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_RESULTS_H
#define MTP_TOOLS_MTP_BENCH_RESULTS_H

#include "runtime/device/CommandTimes.h"
#include "tools/mtp-bench/Options.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <string>
#include <vector>

namespace mtp::bench {

/// One command of a program: seconds in the median of the timed runs, or in the
/// fastest of them, and what it has to do.
struct CommandResult {
  std::string phase;
  std::string kind;
  std::string symbol;
  Work work;
  /// From where the command before let go to where this one did.
  double wall = 0;
  /// Means over the workers: running the kernel, waiting for the others.
  double busy = 0;
  double wait = 0;
};

/// A program at a batch, a number of drafts and a context.
struct Point {
  uint32_t batch = 1;
  uint32_t k = 0;
  uint32_t context = 0;
  uint32_t program = 0;
  /// Rows of a slot; 0: a chain's.
  uint32_t nodes = 0;
  uint32_t rows() const { return batch * (nodes ? nodes : k + 1); }

  /// Rows that lived in the last of the rounds, which may be fewer than it has.
  double liveRows = 0;
  /// In all turns, without the timed ones.
  uint64_t rounds = 0;
  /// The fastest runs of all turns, and whether they agree.
  std::vector<double> fastest;
  bool isSettled() const { return hasComeAgain(fastest); }
  /// The estimate of each turn: whole runs, and the target's part of timed
  /// runs.
  std::vector<double> seconds;
  std::vector<double> targetSeconds;
  std::vector<CommandResult> commands;
  /// The run whose times are nearest to the median.
  CommandTimes sample;
  bool hasExperts = false;
  uint64_t boundBytes = 0;

  /// Sums over all commands, or the target's alone.
  double bytes(bool targetOnly) const;
  double ops(bool targetOnly) const;
  /// Each command's limit after the other: they do not overlap.
  double limit(const Rates &rates, bool targetOnly) const;
};

/// Commands of one phase, or of one kind, together.
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
/// The longest first.
std::vector<Group> groupByKind(const Point &point, const Rates &rates);

/// Whether a phase is the target's: what a step without drafts consists of.
bool isTargetPhase(std::string_view phase);

struct PrefillResult {
  uint32_t tokens = 0;
  bool modules = false;
  /// In all turns.
  uint64_t rounds = 0;
  /// The fastest of them.
  std::vector<double> fastest;
  /// The estimate of each turn.
  std::vector<double> seconds;
};

/// Rounds of k drafts against plain steps.
struct SpeculativeResult {
  uint32_t batch = 1;
  uint32_t context = 0;
  uint32_t k = 0;
  /// Of a round: what stands for all turns, and how they differed.
  double seconds = 0;
  Summary spread;
  /// Time of a round over that of a plain step.
  double ratio = 0;
  /// What that is where both take no longer than their limit; NaN with --ids.
  double limitRatio = 0;
  /// Tokens per round and slot; NaN when nothing was said of acceptance.
  double acceptanceLength = 0;
  /// Of each position, with --ids.
  std::vector<double> accepted;
  double tokensPerSecond = 0;
  double speedup = 0;
};

/// Whole sessions, whose k is fixed or chosen, by wall clock.
struct SessionResult {
  uint32_t batch = 1;
  uint32_t k = 0;
  bool isAutomatic = false;
  /// Of each turn.
  std::vector<double> tokensPerSecond;
  /// By k, in all turns.
  std::vector<uint64_t> rounds;
};

struct Results {
  std::string model;
  std::string producer;
  std::string processor;
  /// What it can do that kernels use: "AVX-512, bf16, VNNI".
  std::string features;
  uint32_t processors = 0;
  /// When it was measured, e.g. "2026-11-23".
  std::string date;
  /// Zero of a GPU.
  uint32_t threads = 0;
  bool pinned = false;
  uint64_t fileWeightBytes = 0;
  /// What the weights are kept in, e.g. "int4 0.56 GB, bf16 0.13 GB".
  std::string formats;
  /// Of the processor's last cache, or of the GPU's.
  uint64_t cacheBytes = 0;
  uint64_t bufferBytes = 0;
  /// Of the machine: before all else, in every turn, and after all else.
  std::vector<MachineRates> machine;
  /// What stands for them, which limits are made of.
  Rates rates;
  bool isNoisy = false;
  std::vector<Point> points;
  std::vector<PrefillResult> prefills;
  /// Who multiplied the rows of whole chunks there.
  std::string prefillKernels;
  /// Of what recurrent layers carry of a slot: a copy's bytes, and of each turn
  /// the seconds that it took, behind a prompt; none where there are none.
  uint64_t snapshotBytes = 0;
  std::vector<double> snapshotSeconds;
  std::vector<SpeculativeResult> speculative;
  std::vector<SessionResult> sessions;

  /// Null when that was not measured.
  const Point *find(uint32_t batch, uint32_t k, uint32_t context) const;
};

/// The point that is profiled and drawn: most drafts, then the first batch and
/// context that were asked for.
const Point &profiledPoint(const Results &results, const Options &options);

/// The points that show time against rows at the first context, ascending.
std::vector<const Point *> rowPoints(const Results &results,
                                     const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_RESULTS_H
