//===- ReplyHeader.h - Names and origins in headers -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_REPLYHEADER_H
#define MTP_TOOLS_MTP_SERVE_REPLYHEADER_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp::serve {

/// Whether a client's name for its request can stand in headers, logs and JSON
/// as it is: 1 to 128 letters, digits, '-', '_', '.' and ':'.
bool isRequestId(std::string_view id);

/// The start of what a client sent, for a log: other bytes than printable ASCII
/// become '?'.
std::string printable(std::string_view text);

/// The fields that let a page of `origin` read the reply; none where `allowed`
/// has neither it nor "*". `asked`: headers that the page would send.
std::vector<std::pair<std::string, std::string>>
originHeaders(const std::vector<std::string> &allowed,
              const std::string &origin, std::string_view asked);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_REPLYHEADER_H
