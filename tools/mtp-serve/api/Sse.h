//===- Sse.h - Server-sent events -------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_SSE_H
#define MTP_TOOLS_MTP_SERVE_API_SSE_H

#include <string>
#include <string_view>

namespace mtp::serve {

/// The content type of a stream of events, and the end of OpenAI's streams.
inline constexpr std::string_view kEventStream = "text/event-stream";
inline constexpr std::string_view kLastEvent = "data: [DONE]\n\n";

/// Returns an event with one line of data, for example JSON on one line.
inline std::string sseEvent(std::string_view data) {
  std::string event = "data: ";
  event += data;
  event += "\n\n";
  return event;
}

/// Returns an event with a name, as in the APIs that name their events.
inline std::string sseEvent(std::string_view name, std::string_view data) {
  std::string event = "event: ";
  event += name;
  event += "\n";
  return event + sseEvent(data);
}

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_SSE_H
