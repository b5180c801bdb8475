//===- Http.h - A request and a reply ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_HTTP_H
#define MTP_TOOLS_MTP_SERVE_API_HTTP_H

#include "tools/mtp-serve/api/RequestMemoryLimit.h"

#include <string>
#include <utility>
#include <vector>

namespace mtp::serve {

/// The parts of a request that routes use, independent of any HTTP library.
struct HttpRequest {
  std::string method;
  /// Decoded path, without the query after '?'.
  std::string path;
  /// The query after '?', not decoded.
  std::string query;
  std::string contentType;
  std::string authorization;
  /// The field X-Api-Key.
  std::string apiKey;
  /// Whether a page in a browser may have sent the request: it has a field that
  /// browsers add.
  bool isFromPage = false;
  /// The number of the request's key, from 1 on; zero: no key is needed.
  uint64_t client = 0;
  /// The request's name in answers and logs.
  std::string id;
  std::string body;
  /// The body's share of the body budget.
  RequestMemoryLimit::Share share;
};

struct HttpReply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  /// The unknown fields of the request, for the header and the log.
  std::vector<std::string> ignored;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_HTTP_H
