//===- Options.h - Options of mtp-serve -------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_OPTIONS_H
#define MTP_TOOLS_MTP_SERVE_API_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::serve {

/// Limits on the memory and time that clients can occupy. Times are in seconds.
struct Limits {
  /// Zero: enough for a prompt of the whole context.
  uint64_t bodyBytes = 0;
  /// Limit on the total size of request bodies being read or tokenized. With
  /// several API keys, one key may use half. Excess requests get 503, or 429 if
  /// over the per-key share. Zero: 64 MiB or 16 bodies, whichever is more.
  uint64_t bodiesBytes = 0;
  uint32_t headerBytes = 16 << 10;
  uint32_t connections = 8192;
  /// Limit on sequences that wait for a slot; excess requests get 429.
  uint32_t waiting = 256;
  /// Limit on sequences per key; excess requests get 429. Zero: no limit.
  uint32_t perKey = 0;
  /// The number of keys; set by the server.
  size_t keyCount = 0;
  /// Limit from a request to the end of its answer. After that the answer is
  /// 504, or an error event. Requests may ask for less. Zero: no limit.
  uint32_t requestSeconds = 0;
  /// `streamBytes`: bytes waiting for the reader of a stream at which its
  /// sequences pause. `kernelBytes`: bytes that the kernel may hold for a
  /// connection in addition.
  uint32_t streamBytes = 64 << 10;
  uint32_t kernelBytes = 256 << 10;
  /// Limits for a connection without a request, a header from its first byte
  /// on, a body, and a client that takes no bytes of a reply.
  uint32_t idleSeconds = 75;
  uint32_t headerSeconds = 10;
  uint32_t bodySeconds = 60;
  uint32_t writeSeconds = 60;
  /// Time for running answers when the server is told to end.
  uint32_t shutdownSeconds = 30;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  /// Zero: any free port.
  uint16_t port = 8080;
  /// If there are keys, requests need one of them.
  std::vector<std::string> keys;
  /// Origins whose pages may call the server; "*": all.
  std::vector<std::string> origins;
  /// Whether SIGINT and SIGTERM end the server.
  bool takesSignals = false;
  bool logsRequests = true;
  std::string version;
  /// Folder of saved prefixes, and the limit of its files together; empty: no
  /// prefixes are saved.
  std::string slotFolder;
  uint64_t slotFolderBytes = uint64_t(64) << 30;
  Limits limits;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_OPTIONS_H
