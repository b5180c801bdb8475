//===- WriteTimeout.cpp - Close connections that do not read --------------===//

#include "tools/mtp-serve/http/WriteTimeout.h"

#include "tools/mtp-serve/http/TcpAckCounter.h"

#include <algorithm>

using namespace mtp::serve;
using boost::system::error_code;

struct WriteTimeout::Watch : std::enable_shared_from_this<Watch> {
  Watch(Socket &socket, Clock::duration patience)
      : socket(socket), timer(socket.get_executor()), patience(patience) {}

  std::optional<uint64_t> taken() {
    if (!socket.is_open())
      return std::nullopt;
    return acknowledgedBytes(socket.native_handle());
  }
  void arm();
  void look();

  Socket &socket;
  boost::asio::steady_timer timer;
  Clock::duration patience;
  /// The time at which the client last took bytes, and the number of bytes
  /// taken by then.
  Clock::time_point since;
  std::optional<uint64_t> seen;
  /// Whether a write is in progress, the timer runs, the owner is gone.
  bool writes = false, isArmed = false, isOver = false;
};

/// Starts the timer, often enough to notice a reader between two writes.
void WriteTimeout::Watch::arm() {
  isArmed = true;
  timer.expires_after(std::clamp<Clock::duration>(
      patience / 8, std::chrono::milliseconds(1), std::chrono::seconds(1)));
  timer.async_wait([self = shared_from_this()](error_code) {
    self->isArmed = false;
    if (!self->isOver && self->writes)
      self->look();
  });
}

void WriteTimeout::Watch::look() {
  std::optional<uint64_t> now = taken();
  if (now != seen) {
    seen = now;
    since = Clock::now();
  } else if (Clock::now() - since >= patience) {
    error_code error;
    socket.close(error);
    return;
  }
  arm();
}

WriteTimeout::WriteTimeout(Socket &socket, Clock::duration patience)
    : watch(std::make_shared<Watch>(socket, patience)) {}

WriteTimeout::~WriteTimeout() {
  watch->isOver = true;
  watch->timer.cancel();
}

void WriteTimeout::begin() {
  watch->writes = true;
  watch->since = Clock::now();
  watch->seen = watch->taken();
  if (!watch->isArmed)
    watch->arm();
}

void WriteTimeout::end() { watch->writes = false; }
