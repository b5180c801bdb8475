//===- Http.h - A request and a reply ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_H
#define MTP_TOOLS_MTP_SERVE_HTTP_H

#include "tools/mtp-serve/BodyBudget.h"

#include <string>
#include <utility>
#include <vector>

namespace mtp::serve {

/// What routes look at of a request; apart from any library of HTTP.
struct HttpRequest {
  std::string method;
  /// Without what stands behind '?', and decoded.
  std::string path;
  std::string contentType;
  std::string authorization;
  /// Whose key it has, from 1 on; zero: none is asked for.
  uint64_t client = 0;
  /// Names it in answers and logs.
  std::string id;
  std::string body;
  /// What the body takes of the memory for all.
  BodyBudget::Share share;
};

struct HttpReply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_H
