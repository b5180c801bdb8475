//===- Socket.h - A non-blocking connection ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H
#define MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H

#include "runtime/core/Result.h"
#include "tools/mtp-bench/serve/Url.h"

#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace mtp::bench {

/// Where a name leads; looked up once, since that waits.
struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Result<Address> resolve(const Url &url);

/// A descriptor of its own, closed with it.
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

/// How many bytes went, and whether the other side is gone.
struct Transfer {
  size_t bytes = 0;
  bool isClosed = false;
};

/// Begins to connect; whether it has is known when the socket can be written.
Result<Descriptor> beginConnection(const Address &address);
/// What became of that.
Status connectionStatus(const Descriptor &socket);
/// As much as goes without waiting; an error but for that is a closed side.
Transfer sendSome(const Descriptor &socket, std::string_view bytes);
Transfer receiveSome(const Descriptor &socket, char *buffer, size_t size);

/// Lets the process have as many descriptors as it may.
void raiseDescriptorLimit();

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_SOCKET_H
