//===- Routes.h - What each path answers ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ROUTES_H
#define MTP_TOOLS_MTP_SERVE_ROUTES_H

#include "tools/mtp-serve/Dispatcher.h"
#include "tools/mtp-serve/Http.h"
#include "tools/mtp-serve/Options.h"

namespace mtp::serve {

/// A reply, or what will give one.
struct RouteAnswer {
  HttpReply reply;
  std::shared_ptr<Generation> generation;
  /// Takes a while: for another thread, which it is safe on.
  std::function<HttpReply()> work;
};

/// Everything about the API but sockets. For one thread.
class Routes {
public:
  Routes(Dispatcher &dispatcher, const ServerOptions &options)
      : dispatcher(dispatcher), options(options) {}

  /// Sets whose key the request has.
  RouteAnswer answer(HttpRequest &request);

  /// The reply that an error makes.
  static HttpReply replyOf(const ApiError &error);

private:
  struct Route;
  static const Route kRoutes[];

  /// Sets who it is that asks; false without one of the keys.
  bool isAllowed(HttpRequest &request) const;

  RouteAnswer page(const HttpRequest &request);
  RouteAnswer completions(const HttpRequest &request);
  RouteAnswer chat(const HttpRequest &request);
  RouteAnswer models(const HttpRequest &request);
  RouteAnswer health(const HttpRequest &request);
  RouteAnswer metrics(const HttpRequest &request);
  RouteAnswer tokenize(const HttpRequest &request);
  RouteAnswer detokenize(const HttpRequest &request);
  RouteAnswer version(const HttpRequest &request);
  RouteAnswer props(const HttpRequest &request);

  Dispatcher &dispatcher;
  const ServerOptions &options;
};

/// Compares a key with what a client sent in a time that does not depend on
/// where they differ.
bool isSameKey(std::string_view key, std::string_view given);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ROUTES_H
