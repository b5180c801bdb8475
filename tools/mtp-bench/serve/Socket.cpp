//===- Socket.cpp - A non-blocking connection -----------------------------===//

#include "tools/mtp-bench/serve/Socket.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::bench;

Descriptor &Descriptor::operator=(Descriptor &&other) {
  std::swap(number, other.number);
  return *this;
}

Descriptor::~Descriptor() {
  if (number >= 0)
    ::close(number);
}

Result<Address> bench::resolve(const Url &url) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int error = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (error != 0)
    return notFound(strCat("--serve: cannot find '", url.host,
                           "': ", ::gai_strerror(error)));
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

Result<Descriptor> bench::beginConnection(const Address &address) {
  Descriptor socket(::socket(address.storage.ss_family,
                             SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.isOpen())
    return resourceExhausted(
        strCat("cannot make a socket: ", std::strerror(errno)));
  // Requests must leave at once.
  int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto *where = reinterpret_cast<const sockaddr *>(&address.storage);
  if (::connect(socket.get(), where, address.size) != 0 && errno != EINPROGRESS)
    return unavailable(strCat("cannot connect: ", std::strerror(errno)));
  return socket;
}

Status bench::connectionStatus(const Descriptor &socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  if (error != 0)
    return unavailable(strCat("cannot connect: ", std::strerror(error)));
  return okStatus();
}

/// Converts the result of a call that returns a count or fails.
static Transfer transferOf(ssize_t count, bool zeroIsEnd) {
  if (count > 0)
    return {size_t(count), false};
  if (count == 0)
    return {0, zeroIsEnd};
  return {0, errno != EAGAIN && errno != EINTR};
}

Transfer bench::sendSome(const Descriptor &socket, std::string_view bytes) {
  return transferOf(
      ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
      /*zeroIsEnd=*/false);
}

Transfer bench::receiveSome(const Descriptor &socket, char *buffer,
                            size_t size) {
  return transferOf(::recv(socket.get(), buffer, size, 0), /*zeroIsEnd=*/true);
}

void bench::raiseDescriptorLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}
