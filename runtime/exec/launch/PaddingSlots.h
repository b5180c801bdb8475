//===- PaddingSlots.h - Free slots that fill a batch ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_PADDINGSLOTS_H
#define MTP_RUNTIME_EXEC_LAUNCH_PADDINGSLOTS_H

#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/launch/RoundLaunch.h"
#include "runtime/exec/launch/RuleStates.h"
#include "runtime/exec/memory/SequenceMemory.h"

#include <optional>
#include <vector>

namespace mtp {

/// Prepares free slots for a launch of a larger batch. Such a slot has the
/// states of a new sequence at position 0 and pages of its own, so it writes
/// nothing that another slot reads. Its sequence counts as ended.
class PaddingSlots {
public:
  /// All must outlive the object.
  PaddingSlots(const Artifact &artifact, Executable &executable,
               HostState &host, RuleStates &rules);

  /// Whether the host can move the slots of an artifact to position 0.
  static bool arePossible(const Artifact &artifact) {
    return artifact.findState("length").has_value();
  }

  /// Prepares slots that no sequence has for a launch that needs pages for
  /// `positions` positions of each. Returns the slots with their pages, or
  /// nothing if free pages are short: sequences hold the pages that the prefix
  /// cache leaves free. end() follows the launch.
  Result<std::vector<RoundWork::Padding>> begin(SequenceMemory &memory,
                                                std::span<const uint32_t> slots,
                                                uint64_t positions);
  /// Gives back the pages of the last launch.
  void end(SequenceMemory &memory);
  /// Notes that a sequence has taken a slot, whose states it changes.
  void noteTaken(uint32_t slot) { ready[slot] = false; }

private:
  Status clear(SequenceMemory &memory, uint32_t slot);

  Executable &executable;
  HostState &host;
  RuleStates &rules;
  /// The state with the positions of the slots.
  std::optional<uint32_t> length;
  /// By slot, whether its states belong to a new sequence, or are later states
  /// of padding.
  std::vector<bool> ready;
  /// Slots that hold pages.
  std::vector<uint32_t> held;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_PADDINGSLOTS_H
