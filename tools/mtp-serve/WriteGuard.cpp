//===- WriteGuard.cpp - Ends waiting for who does not read ----------------===//

#include "tools/mtp-serve/WriteGuard.h"

#include <algorithm>
#include <linux/sockios.h>
#include <sys/ioctl.h>

using namespace mtp::serve;
using boost::system::error_code;

struct WriteGuard::Watch : std::enable_shared_from_this<Watch> {
  Watch(Socket &socket, Clock::duration patience)
      : socket(socket), timer(socket.get_executor()), patience(patience) {}

  /// Bytes that the other side has not said to have.
  int unread() {
    int bytes = -1;
    if (socket.is_open())
      ::ioctl(socket.native_handle(), SIOCOUTQ, &bytes);
    return bytes;
  }
  void arm();
  void look();

  Socket &socket;
  boost::asio::steady_timer timer;
  Clock::duration patience;
  /// When something was last taken, and what was left then.
  Clock::time_point since;
  int left = 0;
  /// A write is under way; the timer runs; the owner is gone.
  bool writes = false, isArmed = false, isOver = false;
};

/// Looks often enough to see a reader between two writes.
void WriteGuard::Watch::arm() {
  isArmed = true;
  timer.expires_after(std::clamp<Clock::duration>(
      patience / 8, std::chrono::milliseconds(1), std::chrono::seconds(1)));
  timer.async_wait([self = shared_from_this()](error_code) {
    self->isArmed = false;
    if (!self->isOver && self->writes)
      self->look();
  });
}

void WriteGuard::Watch::look() {
  int now = unread();
  if (now != left) {
    left = now;
    since = Clock::now();
  } else if (Clock::now() - since >= patience) {
    error_code error;
    socket.close(error);
    return;
  }
  arm();
}

WriteGuard::WriteGuard(Socket &socket, Clock::duration patience)
    : watch(std::make_shared<Watch>(socket, patience)) {}

WriteGuard::~WriteGuard() {
  watch->isOver = true;
  watch->timer.cancel();
}

void WriteGuard::begin() {
  watch->writes = true;
  watch->since = Clock::now();
  watch->left = 0;
  if (!watch->isArmed)
    watch->arm();
}

void WriteGuard::end() { watch->writes = false; }
