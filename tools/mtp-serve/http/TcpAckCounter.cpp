//===- TcpAckCounter.cpp - Bytes that the client has received -------------===//

// The kernel's header has fields that the C library's header lacks, and the two
// cannot be included together. So this file includes none of the other headers.
#include "tools/mtp-serve/http/TcpAckCounter.h"

#include <cstddef>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

std::optional<uint64_t> mtp::serve::acknowledgedBytes(int socket) {
  struct tcp_info info = {};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(struct tcp_info, tcpi_bytes_acked) +
                 sizeof(info.tcpi_bytes_acked))
    return std::nullopt;
  return info.tcpi_bytes_acked;
}
