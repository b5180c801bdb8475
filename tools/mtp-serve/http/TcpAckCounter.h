//===- TcpAckCounter.h - Bytes that the client has received -----*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_TCPACKCOUNTER_H
#define MTP_TOOLS_MTP_SERVE_HTTP_TCPACKCOUNTER_H

#include <cstdint>
#include <optional>

namespace mtp::serve {

/// Returns the bytes that the other side of a TCP connection has acknowledged
/// since the connection was opened (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
/// The number only grows. The bytes that the kernel still holds (SIOCOUTQ) are
/// no replacement: they stay equal if a writer refills what was taken. Returns
/// nothing if the socket is not connected.
std::optional<uint64_t> acknowledgedBytes(int socket);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_TCPACKCOUNTER_H
