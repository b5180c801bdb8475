//===- DrafterCatchUp.h - Drafters that have fallen behind ------*- C++ -*-===//
// A round without drafts, or with fewer drafts than a chain has modules, leaves
// gaps in the caches of drafters. If the artifact has programs for it, drafters
// are refreshed before the next round that drafts: over the tokens since then,
// with the hidden states that commits have kept of the last ones. The entries
// are, bit for bit, those that rounds with drafts would have left.
//
// Entries that are missing for good are not read: entries after a gap follow
// those before it. If a round has more drafts than a sequence in it, only those
// drafters of the sequence run that have missed nothing.
//
// A sequence that chooses k may want to draft again. Its drafters are refreshed
// before the first hidden state that they need is overwritten, as long as that
// takes a small share of all time.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_DRAFTERCATCHUP_H
#define MTP_RUNTIME_EXEC_LAUNCH_DRAFTERCATCHUP_H

#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/exec/program/PrefixReusePolicy.h"

#include <functional>

namespace mtp {

/// A sequence of the next round, as its drafters see it.
struct DrafterRow {
  const KeptState *kept = nullptr;
  Residency *residency = nullptr;
  /// Drafts that the sequence may have.
  uint32_t drafts = 0;
  /// Whether the sequence may want more drafts later.
  bool choosesK = false;
  /// Tokens for which its drafters were refreshed; prepare() adds to it.
  uint64_t caughtUp = 0;
};

class DrafterCatchUp {
public:
  struct Config {
    /// The session's k.
    uint32_t k = 0;
    /// Tokens that drafters read ahead.
    uint32_t ahead = 0;
    uint32_t roundsPerLaunch = 1;
  };

  /// All must outlive the object.
  DrafterCatchUp(const ProgramTable &programs, const PrefixReusePolicy &reuse,
                 HostState &host, Executable &executable,
                 SequenceMemory &memory, const std::function<double()> &clock,
                 const Config &config)
      : programs(programs), reuse(reuse), host(host), executable(executable),
        memory(memory), clock(clock), config(config) {}

  /// Refreshes the drafters that a launch of rounds of k needs. Also refreshes
  /// those whose hidden states it would overwrite, as long as that takes a
  /// small share of `decodeSeconds`. May lower `rounds`. Tells the device which
  /// drafters run and where their entries are. Returns the seconds that
  /// refreshing took.
  Result<double> prepare(std::span<DrafterRow> rows, uint32_t k,
                         uint32_t &rounds, double decodeSeconds);

  /// Records a round of k that began with the anchor at position `anchor`.
  void noteRound(Residency &residency, uint32_t k, uint64_t anchor) const;

private:
  /// Rows over which the drafters of a sequence run.
  struct Run {
    const Residency *residency;
    /// Positions of the rows that are left.
    uint64_t first, last;
  };
  Status catchUp(std::span<DrafterRow *const> behind);
  Result<Run> begin(DrafterRow &row);
  Status run(std::vector<Run> runs);
  Status keepUp(std::span<DrafterRow> rows, uint32_t k, uint32_t &rounds,
                double decodeSeconds);
  void goOnBehindGaps(std::span<DrafterRow> rows) const;
  void leaveOut(Residency &residency, uint32_t k, uint64_t begin) const;
  void noteCaughtUp(Residency &residency, uint32_t k) const;
  Status writePlaces(Residency &residency,
                     const std::function<bool(uint32_t)> &runs);
  bool isInReach(const Residency &residency, uint64_t drafterValidUpTo,
                 uint64_t tokens = 0) const;

  const ProgramTable &programs;
  const PrefixReusePolicy &reuse;
  HostState &host;
  Executable &executable;
  SequenceMemory &memory;
  const std::function<double()> &clock;
  Config config;
  /// Seconds spent on drafters that no round was waiting for.
  double keepUpSeconds = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_DRAFTERCATCHUP_H
