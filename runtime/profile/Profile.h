//===- Profile.h - Measurements of a model on machines ----------*- C++ -*-===//
//
// A profile has what mtp-tune or a server has measured. The times of programs
// belong to machines. Outcomes of drafts and the load belong to the model. No
// output bit depends on a profile.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_PROFILE_H
#define MTP_RUNTIME_PROFILE_PROFILE_H

#include "runtime/profile/Acceptance.h"
#include "runtime/profile/Alternative.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mtp::profile {

/// Limits of a profile. A writer keeps them, and a reader refuses a file beyond
/// them.
inline constexpr uint64_t kMostBytes = 16 << 20;
inline constexpr size_t kMostMachines = 16, kMostCosts = 4096,
                        kMostOutcomes = 64, kMostNameBytes = 512,
                        kMostRoundShapes = 4096, kMostLaunches = 1024;
/// Limit on the nodes of the graphs of a round.
inline constexpr uint32_t kMostCostNodes = 1 << 24;
/// Limits on a driver's version and on a clock rate in kHz.
inline constexpr uint32_t kMostDriver = 1'000'000, kMostClock = 100'000'000;
/// Limits on the seconds of a run of a program. Quotients of times in between
/// are finite.
inline constexpr double kLeastSeconds = 1e-9, kMostSeconds = 3600;
/// Limit on days since 1970, a day of the year 2243.
inline constexpr uint32_t kMostDay = 100'000;

/// Identifies a model with its drafter.
struct ModelKey {
  /// For messages only.
  std::string name;
  uint64_t weights = 0, tokenizer = 0;
  std::string drafter;

  bool isSame(const ModelKey &other) const {
    return weights == other.weights && tokenizer == other.tokenizer &&
           drafter == other.drafter;
  }
};

/// The shape and the time of a program, see mtp_profile.fbs.
struct Cost {
  Work work = Work::Round;
  uint64_t program = 0;
  uint32_t batch = 1, k = 0, rows = 1;
  uint64_t positions = 0;
  double lower = 0, median = 0, upper = 0;
  uint64_t count = 0;
  uint32_t nodes = 0;
  uint32_t padding = 0;

  /// Returns one deviation of the median, as a share of the lower quartile.
  double doubt() const;
  /// Returns whether the cost is of a round without padding slots.
  bool isPlainRound() const { return work == Work::Round && padding == 0; }
  /// Returns whether two costs are of one program and shape: their contexts are
  /// in one bucket.
  bool isOfShape(const Cost &other) const {
    return work == other.work && program == other.program &&
           batch == other.batch && k == other.k && rows == other.rows &&
           padding == other.padding &&
           bucketOf(positions / batch) ==
               bucketOf(other.positions / other.batch);
  }
};

/// The time of a launch of rounds, see mtp_profile.fbs.
struct LaunchCost {
  uint64_t program = 0;
  uint32_t batch = 1, k = 0, rounds = 1;
  uint64_t positions = 0;
  double lower = 0, median = 0, upper = 0;
  uint64_t count = 0;

  /// Returns whether two launches are of one program and shape: their contexts
  /// are in one bucket.
  bool isOfShape(const LaunchCost &other) const {
    return program == other.program && batch == other.batch && k == other.k &&
           rounds == other.rounds &&
           bucketOf(positions / batch) ==
               bucketOf(other.positions / other.batch);
  }
};

/// Settings of a GPU that change its times and not its name; zero for a CPU.
struct GpuSettings {
  /// Version of the driver: 13000 is 13.0. Zero: unknown.
  uint32_t driver = 0;
  /// Maximum clock rates of the multiprocessors and of the memory, in kHz.
  uint32_t clock = 0, memoryClock = 0;

  bool operator==(const GpuSettings &) const = default;
  bool isUnknown() const { return *this == GpuSettings(); }
  /// Returns "driver 13.0, 1980 MHz, memory 2619 MHz".
  std::string text() const;
};

/// Identifies a machine.
struct MachineKey {
  std::string name;
  /// Number of threads; 0 for a GPU.
  uint32_t threads = 0;
  GpuSettings gpu;

  bool operator==(const MachineKey &) const = default;
};

/// Costs on one machine.
struct MachineCosts {
  std::string name;
  /// Number of threads; 0 for a GPU.
  uint32_t threads = 0;
  /// Days from 1970-01-01 to the last measurement.
  uint32_t day = 0;
  bool isBusy = false;
  std::vector<Cost> costs;
  /// Costs of what a compiler could choose.
  std::vector<Alternative> alternatives;
  /// Algorithms of a GPU's library.
  std::vector<GemmChoice> gemms;
  GpuSettings gpu;
  /// Launches of a GPU.
  std::vector<LaunchCost> launches;

  MachineKey key() const { return {name, threads, gpu}; }
  void setKey(const MachineKey &key) {
    name = key.name;
    threads = key.threads;
    gpu = key.gpu;
  }
  /// Returns the time that stands for a cost: the lower quartile. Other
  /// processes only make runs longer, and a median of few runs has some of
  /// them.
  double secondsOf(const Cost &cost) const { return cost.lower; }
  bool isOfMachine(const MachineCosts &other) const {
    return key() == other.key();
  }
};

/// The head of a drafter that reads the whole vocabulary.
struct DraftHead {
  /// The number of tokens; 0: the drafter has no such head, or it is unknown.
  uint32_t vocab = 0;
  /// The head's share of the bytes of weights that a drafter's pass reads.
  double share = 0;
};

/// How the model was used.
struct Load {
  /// Histograms by powers of two.
  std::vector<uint64_t> slots, contexts, prompts, outputs;
  /// By the slots and the k of a round, the number of rounds.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> rounds;
};

struct Profile {
  ModelKey model;
  /// Outcomes of mtp-tune's own text; empty if it was not run.
  Outcomes check;
  std::vector<Outcomes> outcomes;
  std::vector<MachineCosts> machines;
  Load load;
  /// Outcomes of the nodes of draft trees, by kinds of requests, and by the
  /// drafter's confidence.
  NodeOutcomes nodes;
  std::vector<KindOutcomes> kinds;
  ConfidenceOutcomes confidence;
  TokenCounts tokens;
  DraftHead head;

  /// Returns the outcomes of all contexts, greedy and sampled, together.
  Outcomes allOutcomes() const;
};

/// Merges `from` into `into`, a profile of the same model. Counts are summed.
/// Costs of equal shapes become weighted means. Old counts are scaled down so
/// that new ones have weight, and the limits of a profile hold afterwards:
/// machines with the oldest measurements and costs with the fewest runs are
/// dropped first.
void merge(Profile &into, const Profile &from);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_PROFILE_H
