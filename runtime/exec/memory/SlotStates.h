//===- SlotStates.h - What a slot begins with -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_SLOTSTATES_H
#define MTP_RUNTIME_EXEC_MEMORY_SLOTSTATES_H

#include "runtime/device/Device.h"
#include "runtime/exec/program/RequestPorts.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mtp {

/// Gives every state the values that its rule in the artifact says. No state is
/// known by its name here.
class SlotStates {
public:
  /// Creates the object and sets the shared states. Artifact and executable
  /// must outlive it.
  static Result<std::unique_ptr<SlotStates>> create(const Artifact &artifact,
                                                    Executable &executable);

  /// Prepares a slot for a sequence that starts with `tokens` and has `inputs`.
  /// The tokens are its prompt, and after a preemption also its output, of
  /// which the last token is the anchor.
  Status admit(uint32_t slot, std::span<const int32_t> tokens,
               const InputBytes &inputs);

  /// Writes all bytes of the slot's part of an input.
  Status setInput(uint32_t slot, uint32_t state,
                  std::span<const uint8_t> bytes);

  /// Returns the bytes that save() keeps of a slot; 0 if there is nothing to
  /// keep.
  uint64_t savedBytes() const { return saved; }
  /// Copies out the states that the host keeps over a preemption
  /// (Rebuild::Save). No round is under way.
  Status save(uint32_t slot, std::vector<uint8_t> &bytes);
  /// Writes saved states back to the slot, after its tokens have run again.
  Status restore(uint32_t slot, std::span<const uint8_t> bytes);

private:
  explicit SlotStates(Executable &executable) : executable(executable) {}
  Status start(const Artifact &artifact);

  /// A state with a range of bytes for each slot.
  struct PerSlot {
    uint32_t state;
    /// The first values of a slot's range.
    std::vector<uint8_t> initial;
    bool hasTokens;
    bool isSaved;
  };

  Executable &executable;
  std::vector<PerSlot> states;
  uint64_t saved = 0;
  std::vector<uint8_t> buffer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_SLOTSTATES_H
