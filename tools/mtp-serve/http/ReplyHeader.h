//===- ReplyHeader.h - Names and origins in headers -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_REPLYHEADER_H
#define MTP_TOOLS_MTP_SERVE_HTTP_REPLYHEADER_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp::serve {

/// Returns whether a client's request id is safe in headers, logs and JSON: 1
/// to 128 letters, digits, '-', '_', '.' and ':'.
bool isRequestId(std::string_view id);

/// Returns the begin of a client's text for a log: bytes other than printable
/// ASCII become '?'.
std::string printable(std::string_view text);

/// Returns names as the value of a header: at most 32 of them, each at most 64
/// bytes. Bytes that are not letters, digits, '-', '_' or '.' become '?'.
std::string listOf(const std::vector<std::string> &names);

/// Returns the fields that let a page of `origin` read the reply; none if
/// `allowed` contains neither the origin nor "*". `asked`: headers that the
/// page would send.
std::vector<std::pair<std::string, std::string>>
originHeaders(const std::vector<std::string> &allowed,
              const std::string &origin, std::string_view asked);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_REPLYHEADER_H
