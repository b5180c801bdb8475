//===- SessionParts.h - The objects of a session ----------------*- C++ -*-===//
//
// The state of a session with the objects that decide about sequences.
// Session::Impl puts the parts together; DESIGN.md shows how a step goes
// through them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SESSIONPARTS_H
#define MTP_RUNTIME_EXEC_SESSIONPARTS_H

#include "runtime/exec/Admission.h"
#include "runtime/exec/SequenceEnds.h"
#include "runtime/exec/SessionState.h"
#include "runtime/exec/schedule/Scheduler.h"

namespace mtp {

struct SessionParts : SessionState {
  /// `memory` is set afterwards. All arguments must outlive the parts.
  SessionParts(const Model::Impl &inner, const SessionOptions &options,
               const SessionSetup &setup, Executable &executable);

  Admission admission;
  Scheduler scheduler;
  SequenceEnds ends;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONPARTS_H
