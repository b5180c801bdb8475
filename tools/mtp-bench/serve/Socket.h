//===- Socket.h - A non-blocking connection ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H
#define MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H

#include "runtime/core/Result.h"
#include "tools/mtp-bench/serve/Url.h"

#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace mtp::bench {

/// The address of a name; looked up once, since a lookup blocks.
struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Result<Address> resolve(const Url &url);

/// Owns a file descriptor and closes it.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other);
  ~Descriptor();

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number;
};

/// The number of transferred bytes, and whether the other side is gone.
struct Transfer {
  size_t bytes = 0;
  bool isClosed = false;
};

/// Begins to connect; when the socket becomes writable, the result is known.
Result<Descriptor> beginConnection(const Address &address);
/// Returns the result of a connection attempt.
Status connectionStatus(const Descriptor &socket);
/// Transfer the bytes that are possible without blocking. Any error other than
/// blocking counts as a closed side.
Transfer sendSome(const Descriptor &socket, std::string_view bytes);
Transfer receiveSome(const Descriptor &socket, char *buffer, size_t size);

/// Raises the process' limit of descriptors to the maximum.
void raiseDescriptorLimit();

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H
