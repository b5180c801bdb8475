//===- SlotResults.h - Where a program left its results ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_SLOTRESULTS_H
#define MTP_RUNTIME_EXEC_LAUNCH_SLOTRESULTS_H

#include "runtime/device/Device.h"
#include "runtime/exec/program/ProgramTable.h"

#include <vector>

namespace mtp {

/// The places where a program left its results for a sequence.
struct SlotResults {
  /// The sequence's rows.
  Binding logits;
  /// The program and its number of slots or rows.
  uint32_t program = 0;
  uint32_t n = 0;
  /// The sequence's place among the `count` sequences of the program.
  uint32_t index = 0;
  uint32_t count = 1;
  /// Whether the results belong to a prompt in a round.
  bool isMixed = false;
  /// For each token of a round, its row in the slot's window and its row in
  /// `logits`. Empty if token i is from row i.
  std::vector<uint32_t> windowRows, logitsRows;
};

/// Returns the part of a place from `offset` on.
inline Binding rowsOf(const Binding &all, uint64_t offset, uint64_t bytes) {
  return {all.space, all.index, all.offset + offset, bytes};
}

/// Runs the part of a program that only requested outputs need, if a request
/// has asked for one.
inline Status runOnRequest(Executable &executable, const ProgramTable &programs,
                           uint32_t program, uint32_t n, bool isAsked) {
  if (!isAsked || programs.program(program).onRequest == 0)
    return okStatus();
  return executable.runPart(program, n, Part::OnRequest);
}

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_SLOTRESULTS_H
