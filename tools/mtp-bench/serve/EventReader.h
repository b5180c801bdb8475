//===- EventReader.h - Events of a streamed answer --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_EVENTREADER_H
#define MTP_TOOLS_MTP_BENCH_SERVE_EVENTREADER_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mtp::bench {

/// The measured contents of an event of a streamed completion or chat.
struct StreamEvent {
  /// True if the event has a part of the answer: text or ids.
  bool hasOutput = false;
  /// The number of ids in it; zero from a server that sends only text.
  uint64_t ids = 0;
  /// Token counts. The optional ones are set if the event has usage.
  std::optional<uint64_t> promptTokens;
  std::optional<uint64_t> outputTokens;
  uint64_t cachedTokens = 0;
  /// The server's error message.
  std::string error;
  /// True for "[DONE]".
  bool isLast = false;
};

/// Cuts the body of a stream, which arrives in pieces, into events.
class EventReader {
public:
  EventReader();
  EventReader(EventReader &&);
  EventReader &operator=(EventReader &&);
  ~EventReader();

  void append(std::string_view bytes);
  /// Returns whether there was a whole event. An event that is not JSON is an
  /// error.
  Result<bool> next(StreamEvent &event);

private:
  Status parse(std::string_view data, StreamEvent &event);

  struct Parser;
  std::unique_ptr<Parser> parser;
  std::string text;
  /// The position in `text` at which the next event begins.
  size_t begin = 0;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_EVENTREADER_H
