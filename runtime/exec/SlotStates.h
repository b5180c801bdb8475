//===- SlotStates.h - What a slot begins with -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SLOTSTATES_H
#define MTP_RUNTIME_EXEC_SLOTSTATES_H

#include "runtime/device/Device.h"

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
  /// after a preemption also all that it had generated, the anchor's last.
  Status admit(uint32_t slot, std::span<const int32_t> tokens);

private:
  explicit SlotStates(Executable &executable) : executable(executable) {}
  Status start(const Artifact &artifact);

  /// A state with a range of bytes for each slot.
  struct PerSlot {
    uint32_t state;
    /// What a slot's range holds at first.
    std::vector<uint8_t> initial;
    bool hasTokens;
  };

  Executable &executable;
  std::vector<PerSlot> states;
  std::vector<uint8_t> buffer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SLOTSTATES_H
