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
  /// Sets the shared states. Artifact and executable must outlive the result.
  static Result<std::unique_ptr<SlotStates>> create(const Artifact &artifact,
                                                    Executable &executable);

  /// Prepares a slot for a sequence that starts with `tokens`: its prompt, and
  /// after a preemption also all that it had generated, the anchor's last; and
  /// that has brought `inputs`.
  Status admit(uint32_t slot, std::span<const int32_t> tokens,
               const InputBytes &inputs);

  /// Writes the slot's part of an input, all of its bytes.
  Status setInput(uint32_t slot, uint32_t state,
                  std::span<const uint8_t> bytes);

  /// Bytes of a slot that save() keeps; 0 where there is nothing to keep.
  uint64_t savedBytes() const { return saved; }
  /// Copies out what the host keeps over a preemption (Rebuild::Save). No round
  /// is under way.
  Status save(uint32_t slot, std::vector<uint8_t> &bytes);
  /// Writes that back, when the tokens have been run again.
  Status restore(uint32_t slot, std::span<const uint8_t> bytes);

private:
  explicit SlotStates(Executable &executable) : executable(executable) {}
  Status start(const Artifact &artifact);

  /// A state with a range of bytes for each slot.
  struct PerSlot {
    uint32_t state;
    /// What a slot's range holds at first.
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
