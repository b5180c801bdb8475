//===- WriteGuard.h - Close connections that do not read --------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_WRITEGUARD_H
#define MTP_TOOLS_MTP_SERVE_WRITEGUARD_H

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace mtp::serve {

/// Closes a socket whose other side takes nothing of what is being written to
/// it for a time. However slowly it takes bytes, it is waited for: what counts
/// is whether the kernel has been told of another one. For one thread.
class WriteGuard {
public:
  using Socket = boost::asio::ip::tcp::socket;
  using Clock = std::chrono::steady_clock;

  WriteGuard(Socket &socket, Clock::duration patience);
  /// The socket may be gone from now on.
  ~WriteGuard();

  /// A write begins or has ended. Between them the socket is watched.
  void begin();
  void end();

private:
  struct Watch;
  std::shared_ptr<Watch> watch;
};

/// A write, from here to the end of the scope.
class GuardedWrite {
public:
  explicit GuardedWrite(WriteGuard &guard) : guard(guard) { guard.begin(); }
  ~GuardedWrite() { guard.end(); }
  GuardedWrite(const GuardedWrite &) = delete;

private:
  WriteGuard &guard;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_WRITEGUARD_H
