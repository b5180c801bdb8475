//===- RoundDriver.h - Runs rounds and shows their drafts -------*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_ROUNDDRIVER_H
#define MTP_TEST_E2E_HARNESS_ROUNDDRIVER_H

#include "mtp/model.h"
#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/memory/SlotStates.h"
#include "runtime/exec/program/ProgramTable.h"

#include <memory>
#include <span>
#include <vector>

namespace mtp::test {

/// Drives one greedy sequence through the programs of an artifact. Uses the
/// layer below Session, because Session does not show drafts.
class RoundDriver {
public:
  /// Rounds have `k` drafts, at least 1.
  RoundDriver(std::shared_ptr<const Model> model, uint32_t k);

  /// Fills the caches with the prompt and returns the first token.
  int32_t prefill(std::span<const int32_t> prompt);

  struct Round {
    /// The `k` tokens that the modules drafted.
    std::vector<int32_t> drafts;
    /// The tokens that the round emitted.
    std::vector<int32_t> tokens;
  };
  Round decode();

private:
  void run(uint32_t program, uint32_t n);
  std::vector<int32_t> emitted();

  std::shared_ptr<const Model> model;
  uint32_t k;
  const Artifact &artifact;
  ProgramTable programs;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<HostState> host;
  std::unique_ptr<SlotStates> states;
};

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_ROUNDDRIVER_H
