//===- Rig.h - Programs at any context and acceptance -----------*- C++ -*-===//
//
// The rig works below Session: it runs programs of an artifact one by one and
// writes the states between them. So a round can do the work of any acceptance
// at any context, whatever the weights are.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_RIG_H
#define MTP_TOOLS_MTP_BENCH_RIG_H

#include "mtp/model.h"
#include "runtime/exec/HostState.h"
#include "runtime/exec/LibraryChoice.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/Snapshots.h"

#include <memory>
#include <random>

namespace mtp::bench {

///
/// Where the device cannot write or read, the next run fails with why.
class Rig {
public:
  /// For rounds of up to `slots` slots; the options of the device are those of
  /// mtp-run.
  static Result<std::unique_ptr<Rig>> create(std::shared_ptr<const Model> model,
                                             uint32_t slots, uint32_t threads,
                                             bool pin, uint64_t seed,
                                             float temperature = 0);

  const Model &model() const { return *loaded; }
  const Artifact &artifact() const { return contents; }
  const Plan &plan() const {
    return contents.plans[ModelAccess::plan(*loaded)];
  }
  const Program &programAt(uint32_t index) const {
    return table.program(index);
  }
  const ProgramTable &programs() const { return table; }

  /// Makes `slots` the ones of the next round.
  void activate(uint32_t slots);

  /// From now on the token of a position is the position modulo `period`, so
  /// that lookups find something; 0: tokens are random.
  void repeatTokens(uint32_t period) { this->period = period; }

  /// Puts a slot behind `context` tokens, with the anchor as the last of them
  /// and `accepted` drafts taken in the round before. Entries of the caches and
  /// tokens are random. Of its next drafts it verifies `limit` at most.
  void place(uint32_t slot, uint32_t context, uint32_t accepted,
             uint32_t limit = UINT32_MAX);

  /// Runs a program for n slots or rows; returns its seconds.
  Result<double> run(uint32_t index, uint32_t n);
  Result<double> runTimed(uint32_t index, uint32_t n, CommandTimes &times);
  /// Runs a round that others follow on the device, so many in all; returns the
  /// seconds of one. Contexts grow by what they put out.
  Result<double> runRounds(uint32_t index, uint32_t n, uint32_t rounds);

  /// Says who multiplies the rows of whole chunks in prefill(), as a session
  /// would; before, kernels of the plan do.
  const LibraryChoice &useLibrary(bool deterministic);

  /// Fills a slot's caches with tokens, in chunks of the default size; returns
  /// the seconds. With `modules`, those of the drafter too. Entries of the
  /// first `behind` tokens, fewer than all, are random, and no part of the
  /// time.
  Result<double> prefill(uint32_t slot, std::span<const int32_t> tokens,
                         bool modules, uint32_t behind = 0);

  /// Copies what recurrent layers carry of a slot, as a session does behind a
  /// chunk; returns the seconds, 0 where there are none. And the copy's bytes.
  Result<double> copyStates(uint32_t slot);
  uint64_t bytesOfCopy() const { return snapshotBytes; }

  /// Rows of the first n slots that lived in the last launch, so many rounds of
  /// a program: all that it has where it does not say it.
  double liveRows(uint32_t index, uint32_t n, uint32_t rounds);

  /// What a slot's last program emitted.
  std::span<const int32_t> emitted(uint32_t slot);

  /// All states as they are now, and back.
  std::vector<uint8_t> saveStates();
  void restoreStates(const std::vector<uint8_t> &saved);

  /// Tokens that are somewhere in the vocabulary.
  std::vector<int32_t> randomTokens(uint32_t count);

private:
  void setLoops(uint32_t slots, uint32_t rounds);
  Rig(std::shared_ptr<const Model> model, uint64_t seed);
  Status start(uint32_t slots, uint32_t threads, bool pin, float temperature);
  int32_t findState(std::string_view name) const;
  Binding wholeState(uint32_t index) const;
  void writeRow(int32_t state, uint64_t row, std::span<const int32_t> values);
  void fillHidden();
  void writeTokens(uint32_t slot, uint32_t context, uint32_t drafts);
  void note(Status status);
  void fillPages(uint32_t slot, uint32_t tokens);

  std::shared_ptr<const Model> loaded;
  const Artifact &contents;
  ProgramTable table;
  LibraryChoice library;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<HostState> host;
  /// The first failure of a write or read.
  Status failure;
  std::mt19937_64 random;
  int32_t length, accepted, window;
  uint32_t pagesPerSlot = 0, period = 0;
  uint64_t snapshotBytes = 0;
  /// For each cache, one page of random entries.
  std::vector<std::vector<uint8_t>> pages;
  /// Pages of each slot that are filled.
  std::vector<uint32_t> filled;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_RIG_H
