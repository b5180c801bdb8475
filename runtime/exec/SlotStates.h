//===- SlotStates.h - What a slot begins with -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SLOTSTATES_H
#define MTP_RUNTIME_EXEC_SLOTSTATES_H

#include "runtime/device/Device.h"

#include <cstdint>
#include <span>
#include <vector>

namespace mtp {

/// Gives states the values that their upkeep asks for. It knows no state by its
/// name.
class SlotStates {
public:
  /// Both must outlive it. Sets what is shared.
  SlotStates(const Artifact &artifact, Executable &executable);

  /// Prepares a slot for a sequence whose first tokens are known: those of its
  /// prompt, and after a preemption those that it generated.
  void admit(uint32_t slot, std::span<const int32_t> tokens);

private:
  /// A state of which every slot has a part.
  struct PerSlot {
    uint32_t state;
    /// What a slot's part holds at first.
    std::vector<uint8_t> initial;
    bool hasTokens;
  };

  Executable &executable;
  std::vector<PerSlot> states;
  std::vector<uint8_t> buffer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SLOTSTATES_H
