//===- Routes.h - Replies by path -------------------------------*- C++ -*-===//

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
  /// Takes a while: for Dispatcher::runLater().
  std::shared_ptr<TextJob> text;
};

/// Everything about the API but sockets. For one thread.
class Routes {
public:
  Routes(Dispatcher &dispatcher, const ServerOptions &options)
      : dispatcher(dispatcher), options(options) {}

  /// What a request is answered whose header alone decides it, before its body
  /// is read: nothing where the body does. Sets whose key the request has.
  std::optional<HttpReply> answerHeader(HttpRequest &request) const;

  /// Answers a request that answerHeader() left open.
  RouteAnswer answer(HttpRequest &request);

  /// The reply that an error makes.
  static HttpReply replyOf(const ApiError &error);

private:
  struct Route;
  static const Route kRoutes[];
  static const Route *findRoute(const HttpRequest &request,
                                std::string &allowed);

  /// Sets who it is that asks; false without one of the keys.
  bool isAllowed(HttpRequest &request) const;

  RouteAnswer page(HttpRequest &request);
  RouteAnswer completions(HttpRequest &request);
  RouteAnswer chat(HttpRequest &request);
  RouteAnswer models(HttpRequest &request);
  RouteAnswer health(HttpRequest &request);
  RouteAnswer metrics(HttpRequest &request);
  RouteAnswer tokenize(HttpRequest &request);
  RouteAnswer detokenize(HttpRequest &request);
  RouteAnswer version(HttpRequest &request);
  RouteAnswer props(HttpRequest &request);

  Dispatcher &dispatcher;
  const ServerOptions &options;
};

/// Compares a key with what a client sent in a time that does not depend on
/// where they differ.
bool isSameKey(std::string_view key, std::string_view given);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ROUTES_H
