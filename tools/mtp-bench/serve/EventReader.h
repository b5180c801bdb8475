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

/// What an event of a streamed completion or chat says that is measured.
struct StreamEvent {
  /// It brings a part of the answer: text, or ids.
  bool hasOutput = false;
  /// Ids that it brings; a server that gives text alone says none.
  uint64_t ids = 0;
  /// Where it has usage.
  std::optional<uint64_t> promptTokens;
  std::optional<uint64_t> outputTokens;
  uint64_t cachedTokens = 0;
  /// What the server says went wrong.
  std::string error;
  /// "[DONE]".
  bool isLast = false;
};

/// Cuts the body of a stream into events, in whatever pieces it comes.
class EventReader {
public:
  EventReader();
  EventReader(EventReader &&);
  EventReader &operator=(EventReader &&);
  ~EventReader();

  void append(std::string_view bytes);
  /// Whether there was a whole event. An event that is no JSON is an error.
  Result<bool> next(StreamEvent &event);

private:
  Status parse(std::string_view data, StreamEvent &event);

  struct Parser;
  std::unique_ptr<Parser> parser;
  std::string text;
  /// Where in `text` the next event begins.
  size_t begin = 0;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_EVENTREADER_H
