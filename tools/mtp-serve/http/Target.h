//===- Target.h - The path of a request ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_TARGET_H
#define MTP_TOOLS_MTP_SERVE_HTTP_TARGET_H

#include <string>
#include <string_view>

namespace mtp::serve {

/// Returns the path in a request's target: of "/path?query", or of
/// "http://host/path", which proxies receive. %XX is decoded. Returns an empty
/// string if the target has no path.
std::string pathOf(std::string_view target);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_TARGET_H
