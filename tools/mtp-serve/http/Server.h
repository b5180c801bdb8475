//===- Server.h - Sockets for the routes ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_SERVER_H
#define MTP_TOOLS_MTP_SERVE_HTTP_SERVER_H

#include "mtp/session.h"
#include "tools/mtp-serve/api/ModelFacts.h"
#include "tools/mtp-serve/api/Options.h"

#include <functional>
#include <memory>

namespace mtp::serve {

/// An HTTP server for one session. Only its source files see Boost, which
/// throws; no exception leaves them.
class Server {
public:
  /// Listens; connections wait until run(). `facts` must outlive the server.
  ///
  /// Errors: InvalidArgument for an invalid host, Unavailable if the port
  /// cannot be opened.
  static Result<std::unique_ptr<Server>>
  create(std::unique_ptr<Session> session, const ModelFacts &facts,
         ServerOptions options);
  ~Server();

  /// Returns the port on which the server listens.
  uint16_t port() const;

  /// Sets the session for retries. If a step fails, requests without output
  /// restart once on the session that `make` returns, and the server ends after
  /// them. `make` runs on another thread and must not throw. Call it before
  /// run().
  void setFallback(std::function<Result<std::unique_ptr<Session>>()> make);

  /// Serves until stop() and the end of the running requests. Returns the error
  /// of a failed step, which running requests have received as well.
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

#endif // MTP_TOOLS_MTP_SERVE_HTTP_SERVER_H
