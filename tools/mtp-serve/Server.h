//===- Server.h - Sockets for the routes ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_SERVER_H
#define MTP_TOOLS_MTP_SERVE_SERVER_H

#include "mtp/session.h"
#include "tools/mtp-serve/ModelFacts.h"
#include "tools/mtp-serve/Options.h"

#include <functional>
#include <memory>

namespace mtp::serve {

/// An HTTP server for one session. Boost, which throws, is seen in its source
/// files alone; nothing that is thrown leaves them.
class Server {
public:
  /// Listens; connections wait until run(). `facts` must outlive the server.
  ///
  /// Errors: InvalidArgument for a host that is none, Unavailable where the
  /// port cannot be had.
  static Result<std::unique_ptr<Server>>
  create(std::unique_ptr<Session> session, const ModelFacts &facts,
         ServerOptions options);
  ~Server();

  /// The port that it listens on.
  uint16_t port() const;

  /// Where a step fails, requests that have been given nothing begin anew,
  /// once, on a session that this makes, on another thread, which must not
  /// throw; the server ends behind them. Before run().
  void setFallback(std::function<Result<std::unique_ptr<Session>>()> make);

  /// Serves until stop() and the end of what was at hand. The error is that of
  /// a step that failed: what was at hand has then been answered with it.
  Status run();

  /// Requests in progress go on for Limits::shutdownSeconds at most. Meanwhile
  /// a new connection is answered one request, with 503 if that request would
  /// start work. Any thread may call this function.
  void stop();

private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_SERVER_H
