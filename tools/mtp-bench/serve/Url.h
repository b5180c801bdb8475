//===- Url.h - The address of a server --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_URL_H
#define MTP_TOOLS_MTP_BENCH_SERVE_URL_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp::bench {

/// An address of plain HTTP: with TLS, the encryption would be measured as
/// well.
struct Url {
  std::string host;
  std::string port;
  /// The path before /v1; empty, or it begins with '/' and does not end with
  /// one.
  std::string prefix;
};

/// Parses http://HOST[:PORT][/PREFIX]; a host in brackets is an IPv6 address.
Result<Url> parseUrl(std::string_view text);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_URL_H
