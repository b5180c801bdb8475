//===- WriteTimeout.h - Close connections that do not read ------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_WRITETIMEOUT_H
#define MTP_TOOLS_MTP_SERVE_HTTP_WRITETIMEOUT_H

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace mtp::serve {

/// Closes a socket whose client takes no bytes of a write for some time. A
/// client that takes bytes slowly is waited for: only a time without any newly
/// acknowledged byte counts. For one thread.
class WriteTimeout {
public:
  using Socket = boost::asio::ip::tcp::socket;
  using Clock = std::chrono::steady_clock;

  WriteTimeout(Socket &socket, Clock::duration patience);
  /// Ends the watch. The socket may be destroyed afterwards.
  ~WriteTimeout();

  /// Mark the begin and the end of a write, during which the socket is watched.
  void begin();
  void end();

private:
  struct Watch;
  std::shared_ptr<Watch> watch;
};

/// A write that lasts until the end of the scope.
class GuardedWrite {
public:
  explicit GuardedWrite(WriteTimeout &guard) : guard(guard) { guard.begin(); }
  ~GuardedWrite() { guard.end(); }
  GuardedWrite(const GuardedWrite &) = delete;

private:
  WriteTimeout &guard;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_WRITETIMEOUT_H
