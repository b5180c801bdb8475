//===- SessionState.h - The state of a session ------------------*- C++ -*-===//
//
// The objects that hold what a session knows: sequences, pages, results and the
// launch. Each has one job, and its header says which of the others it knows.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SESSIONSTATE_H
#define MTP_RUNTIME_EXEC_SESSIONSTATE_H

#include "runtime/exec/ProfileRecorder.h"
#include "runtime/exec/SessionFactory.h"
#include "runtime/exec/StepResults.h"
#include "runtime/exec/launch/PaddingSlots.h"
#include "runtime/exec/launch/RoundLaunch.h"
#include "runtime/exec/launch/RuleStates.h"
#include "runtime/exec/launch/TokenMasks.h"
#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/exec/program/LibraryChoice.h"
#include "runtime/exec/schedule/SequenceTable.h"

namespace mtp {

struct SessionState {
  /// `memory` is set afterwards. All arguments must outlive the state.
  SessionState(const Model::Impl &inner, const SessionOptions &options,
               const SessionSetup &setup, Executable &executable);

  /// Whether programs change the logits of the request's rows.
  bool hasRules(const Request &request) const {
    return rules.exist() && mtp::hasRules(request);
  }
  const ProgramTable &programs() const { return inner.programs; }
  /// Positions that a round of k needs pages for if it begins at `length`.
  uint64_t endOfRound(uint64_t length, uint32_t k) const;
  /// Waits until nothing runs, and gives back the pages of padding slots. A
  /// later step reads the results of rounds that are over.
  Status land();
  /// Forgets the launch.
  void endLaunch();

  const Model::Impl &inner;
  const SessionOptions &options;
  const SessionSetup &setup;
  Executable &executable;
  LibraryChoice library;
  PrefixReusePolicy reuse;
  HostState host;
  RuleStates rules;
  TokenMasks masks;
  PaddingSlots padding;
  std::unique_ptr<SequenceMemory> memory;
  SequenceTable table;
  StepResults results;
  RoundLaunch launch;
  /// Null unless the session measures itself.
  std::unique_ptr<ProfileRecorder> recorder;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONSTATE_H
