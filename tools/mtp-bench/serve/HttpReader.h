//===- HttpReader.h - Read replies of HTTP/1.1 piece by piece ---*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_HTTPREADER_H
#define MTP_TOOLS_MTP_BENCH_SERVE_HTTPREADER_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::bench {

/// One reply, which arrives in pieces. The server is not trusted: lines have a
/// limit, and lengths are checked.
class HttpReader {
public:
  /// Parses more bytes and appends those of the body to `body`.
  Status take(std::string_view bytes, std::string &body);
  /// Handles the server's end of the connection: it ends a body without a
  /// length, and is an error in any other state.
  Status takeEnd();

  bool hasBegun() const { return begun; }
  bool isComplete() const { return state == State::Complete; }
  /// Returns the status; zero before it has arrived.
  int status() const { return code; }
  /// Returns whether the connection can take another request once this reply is
  /// complete.
  bool keepsAlive() const { return persists; }

private:
  enum class State : uint8_t {
    StatusLine,
    Header,
    /// `left` bytes, until the end, or chunks.
    Sized,
    Unsized,
    ChunkSize,
    Chunk,
    ChunkEnd,
    Trailer,
    Complete,
  };

  Status takeLine(std::string_view text);
  Status takeStatusLine(std::string_view text);
  Status takeField(std::string_view text);
  Status takeChunkSize(std::string_view text);
  void beginBody();
  bool readsLines() const;

  State state = State::StatusLine;
  /// An incomplete line.
  std::string line;
  uint64_t left = 0;
  int code = 0;
  bool begun = false;
  bool hasLength = false;
  bool isChunked = false;
  bool persists = true;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_HTTPREADER_H
