//===- Acknowledged.h - Bytes that the client has received ------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ACKNOWLEDGED_H
#define MTP_TOOLS_MTP_SERVE_ACKNOWLEDGED_H

#include <cstdint>
#include <optional>

namespace mtp::serve {

/// Bytes that the other side of a TCP connection has acknowledged since its
/// begin (RFC 4898, tcpEStatsAppHCThruOctetsAcked). It only grows, where what a
/// kernel still keeps (SIOCOUTQ) is the same again when a writer has filled up
/// what was taken. None where the socket is not connected.
std::optional<uint64_t> acknowledgedBytes(int socket);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ACKNOWLEDGED_H
