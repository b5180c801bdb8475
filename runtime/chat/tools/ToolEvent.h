//===- ToolEvent.h - Parts of an answer with calls --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_TOOLEVENT_H
#define MTP_RUNTIME_CHAT_TOOLS_TOOLEVENT_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

/// A part of an answer. The texts of Content, End, Broken and Markup together
/// are the answer, byte for byte.
struct ToolEvent {
  enum class Kind : uint8_t {
    Content,   ///< Text for the user.
    Begin,     ///< A call begins; the text is the name of its tool.
    Arguments, ///< The next piece of the call's arguments, a JSON object.
    End,       ///< The call is complete; the text is its source.
    Broken,    ///< The call is not valid; the text is its source, which is
               ///< content. Follows a Begin.
    Markup,    ///< Marks after a call, which belong to no content.
  };

  Kind kind = Kind::Content;
  std::string text;

  bool operator==(const ToolEvent &) const = default;
};

using ToolEvents = std::vector<ToolEvent>;

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_TOOLEVENT_H
