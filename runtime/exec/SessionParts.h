//===- SessionParts.h - The objects of a session ----------------*- C++ -*-===//
//
// The objects that generate tokens. Each has one job, and its header says which
// of the others it knows. Session::Impl puts them together; DESIGN.md shows how
// a step goes through them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SESSIONPARTS_H
#define MTP_RUNTIME_EXEC_SESSIONPARTS_H

#include "runtime/exec/Admission.h"
#include "runtime/exec/SequenceEnds.h"
#include "runtime/exec/SessionFactory.h"
#include "runtime/exec/StepResults.h"
#include "runtime/exec/launch/RoundLaunch.h"
#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/exec/program/LibraryChoice.h"
#include "runtime/exec/schedule/Scheduler.h"

namespace mtp {

struct SessionParts {
  /// `memory` is set afterwards. All arguments must outlive the parts.
  SessionParts(const Model::Impl &inner, const SessionOptions &options,
               const SessionSetup &setup, Executable &executable);

  const ProgramTable &programs() const { return inner.programs; }
  /// Positions that a round of k needs pages for if it begins at `length`.
  uint64_t endOfRound(uint64_t length, uint32_t k) const;

  const Model::Impl &inner;
  const SessionOptions &options;
  const SessionSetup &setup;
  Executable &executable;
  LibraryChoice library;
  ReuseRule reuse;
  HostState host;
  std::unique_ptr<SequenceMemory> memory;
  SequenceTable table;
  StepResults results;
  RoundLaunch launch;
  Admission admission;
  Scheduler scheduler;
  SequenceEnds ends;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONPARTS_H
