//===- ProgramRunner.h - Programs at any context and acceptance -*- C++ -*-===//
//
// The runner works below Session: it runs programs of an artifact one by one
// and writes the states between them. So a round can do the work of any
// acceptance at any context, whatever the weights are.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_PROGRAMRUNNER_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_PROGRAMRUNNER_H

#include "mtp/model.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/memory/Snapshots.h"
#include "runtime/exec/program/LibraryChoice.h"
#include "tools/mtp-bench/measure/SlotFiller.h"

#include <memory>

namespace mtp::bench {

/// Runs programs of an artifact. If the device cannot write or read, the next
/// run fails with the reason.
class ProgramRunner {
public:
  /// Creates a runner for rounds of up to `slots` slots. The device's options
  /// are those of mtp-run.
  static Result<std::unique_ptr<ProgramRunner>>
  create(std::shared_ptr<const Model> model, uint32_t slots, uint32_t threads,
         bool pin, uint64_t seed, float temperature = 0);

  const Model &model() const { return *loaded; }
  const Artifact &artifact() const { return contents; }
  const Plan &plan() const {
    return contents.plans[ModelAccess::plan(*loaded)];
  }
  const Program &programAt(uint32_t index) const {
    return table.program(index);
  }
  const ProgramTable &programs() const { return table; }

  /// Makes the first `slots` slots active in the next round.
  void activate(uint32_t slots);

  /// Makes the token of a position the position modulo `period`, so that
  /// lookups find matches; 0: tokens are random.
  void repeatTokens(uint32_t period) { this->period = period; }

  /// Puts a slot after `context` tokens, the last of which is the anchor, with
  /// `accepted` drafts accepted in the round before. Cache entries and tokens
  /// are random. The slot verifies at most `limit` of its next drafts.
  void place(uint32_t slot, uint32_t context, uint32_t accepted,
             uint32_t limit = UINT32_MAX);

  /// Runs a program for n slots or rows; returns its seconds.
  Result<double> run(uint32_t index, uint32_t n);
  Result<double> runTimed(uint32_t index, uint32_t n, CommandTimes &times);
  /// Runs `rounds` consecutive rounds on the device in one launch; returns the
  /// seconds of one. Contexts grow by the output.
  Result<double> runRounds(uint32_t index, uint32_t n, uint32_t rounds);

  /// Lets a library multiply the rows of whole chunks in prefill(), chosen as
  /// in a session. Without this call the plan's kernels do it.
  const LibraryChoice &useLibrary(bool deterministic);

  /// Fills a slot's caches with tokens, in chunks of the default size; returns
  /// the seconds. With `modules`, also the drafter's caches. Entries of the
  /// first `behind` tokens, fewer than all, are random and not timed.
  Result<double> prefill(uint32_t slot, std::span<const int32_t> tokens,
                         bool modules, uint32_t behind = 0);

  /// Copies a slot's recurrent states, as a session does after a chunk; returns
  /// the seconds, 0 if there are none. bytesOfCopy() returns the size.
  Result<double> copyStates(uint32_t slot);
  uint64_t bytesOfCopy() const { return snapshotBytes; }

  /// Returns the active rows of the first n slots in the last launch of
  /// `rounds` rounds; all of the program's rows if it does not count them.
  double activeRows(uint32_t index, uint32_t n, uint32_t rounds);

  /// Returns the tokens that a slot's last program emitted.
  std::span<const int32_t> emitted(uint32_t slot);

  /// Save and restore all states.
  std::vector<uint8_t> saveStates();
  void restoreStates(const std::vector<uint8_t> &saved);

  /// Returns random tokens of the vocabulary.
  std::vector<int32_t> randomTokens(uint32_t count) {
    return filler.tokens(count);
  }

private:
  void setLoops(uint32_t slots, uint32_t rounds);
  ProgramRunner(std::shared_ptr<const Model> model, uint64_t seed);
  Status start(uint32_t slots, uint32_t threads, bool pin, float temperature);
  int32_t findState(std::string_view name) const;
  void writeRow(int32_t state, uint64_t row, std::span<const int32_t> values);
  void writeTokens(uint32_t slot, uint32_t context, uint32_t drafts);
  void note(Status status);

  std::shared_ptr<const Model> loaded;
  const Artifact &contents;
  ProgramTable table;
  LibraryChoice library;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<HostState> host;
  /// The first failure of a write or read.
  Status failure;
  SlotFiller filler;
  int32_t length, accepted, window;
  uint32_t period = 0;
  uint64_t snapshotBytes = 0;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_PROGRAMRUNNER_H
