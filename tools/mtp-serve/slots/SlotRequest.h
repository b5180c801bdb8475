//===- SlotRequest.h - Save, restore and erase prefixes ---------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_SLOTS_SLOTREQUEST_H
#define MTP_TOOLS_MTP_SERVE_SLOTS_SLOTREQUEST_H

#include "tools/mtp-serve/api/Http.h"
#include "tools/mtp-serve/api/ModelFacts.h"
#include "tools/mtp-serve/api/Prompts.h"

#include <atomic>

namespace mtp::serve {

enum class SlotAction : uint8_t { Save, Restore, Erase };

/// A request of llama-server's /slots/ID?action=ACTION. A sequence has no slot
/// of its own, so the prompt names what is saved.
struct SlotRequest {
  SlotAction action = SlotAction::Save;
  /// The number in the path, which answers repeat.
  uint32_t slot = 0;
  /// A plain name; empty: not given.
  std::string filename;
  /// The tokens of the prompt or conversation; empty: not given.
  std::vector<int32_t> prompt;
  std::string cacheSalt;
  /// Fields of the body that are not known.
  std::vector<std::string> ignored;
};

/// Reads slot and action.
MaybeError parseSlotTarget(const HttpRequest &request, const ModelFacts &facts,
                           SlotRequest &slot);

/// Reads the body and encodes its prompt. Ends early if another thread sets
/// `cancelled`.
MaybeError parseSlotBody(std::string_view body, const ModelFacts &facts,
                         const std::atomic<bool> &cancelled, SlotRequest &slot);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_SLOTS_SLOTREQUEST_H
