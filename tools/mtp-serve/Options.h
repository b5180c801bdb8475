//===- Options.h - Options of mtp-serve -------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_OPTIONS_H
#define MTP_TOOLS_MTP_SERVE_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::serve {

/// Bounds on what a client can make the server hold or wait for. Times are in
/// seconds.
struct Limits {
  /// Zero: what a prompt of the whole context may need.
  uint64_t bodyBytes = 0;
  /// Of all bodies that are read or wait to be encoded; of one key of several
  /// half of it. More are answered 503, or 429. Zero: as many as 64 MiB or 16
  /// bodies take, whichever is more.
  uint64_t bodiesBytes = 0;
  uint32_t headerBytes = 16 << 10;
  uint32_t connections = 8192;
  /// Sequences that wait for a slot; more are answered 429.
  uint32_t waiting = 256;
  /// Sequences of one key at hand; more are answered 429. Zero: no limit.
  uint32_t perKey = 0;
  /// How many keys there are; the server sets it.
  size_t keyCount = 0;
  /// Seconds from a request to the end of its answer, which is 504 from then
  /// on, or an error event; requests may ask for less. Zero: no limit.
  uint32_t requestSeconds = 0;
  /// Bytes that wait for the reader of a stream when its sequences are paused.
  /// Beside it the kernel has so many for a connection.
  uint32_t streamBytes = 64 << 10;
  uint32_t kernelBytes = 256 << 10;
  /// A connection without a request, a header from its first byte on, a body,
  /// and a client that takes nothing of what is written to it.
  uint32_t idleSeconds = 75;
  uint32_t headerSeconds = 10;
  uint32_t bodySeconds = 60;
  uint32_t writeSeconds = 60;
  /// For answers at hand when the server is told to end.
  uint32_t shutdownSeconds = 30;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  /// Zero: any that is free.
  uint16_t port = 8080;
  /// One of these is asked for where there are any.
  std::vector<std::string> keys;
  /// Pages of these origins may call; "*": all.
  std::vector<std::string> origins;
  /// SIGINT and SIGTERM end the server.
  bool takesSignals = false;
  bool logsRequests = true;
  std::string version;
  Limits limits;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_OPTIONS_H
