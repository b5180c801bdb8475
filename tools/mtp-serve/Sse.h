//===- Sse.h - Server-sent events -------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_SSE_H
#define MTP_TOOLS_MTP_SERVE_SSE_H

#include <string>
#include <string_view>

namespace mtp::serve {

/// What a stream of events is called, and how OpenAI's ends.
inline constexpr std::string_view kEventStream = "text/event-stream";
inline constexpr std::string_view kLastEvent = "data: [DONE]\n\n";

/// An event of one line of data, as JSON on one line is.
inline std::string sseEvent(std::string_view data) {
  std::string event = "data: ";
  event += data;
  event += "\n\n";
  return event;
}

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_SSE_H
