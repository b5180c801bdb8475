//===- Routes.h - Replies by path -------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_ROUTES_H
#define MTP_TOOLS_MTP_SERVE_HTTP_ROUTES_H

#include "tools/mtp-serve/api/Http.h"
#include "tools/mtp-serve/api/Options.h"
#include "tools/mtp-serve/engine/Dispatcher.h"

namespace mtp::serve {

/// A reply, or the object that will produce it.
struct RouteAnswer {
  HttpReply reply;
  std::shared_ptr<Generation> generation;
  /// Slow work, for Dispatcher::runLater().
  std::shared_ptr<TextJob> text;
};

/// The API without sockets. For one thread.
class Routes {
public:
  Routes(Dispatcher &dispatcher, const ServerOptions &options)
      : dispatcher(dispatcher), options(options) {}

  /// Returns the reply if the header alone decides it, before the body is read;
  /// else nothing. Sets the client number of the request's key.
  std::optional<HttpReply> answerHeader(HttpRequest &request) const;

  /// Answers a request for which answerHeader() returned nothing.
  RouteAnswer answer(HttpRequest &request);

  /// Returns the reply for an error.
  static HttpReply replyOf(const ApiError &error);
  static HttpReply refusal(unsigned status, std::string message,
                           std::string code = "");

private:
  struct Route;
  static const Route kRoutes[];
  static const Route *findRoute(const HttpRequest &request,
                                std::string &allowed);

  /// Sets the request's client; returns false without one of the keys.
  bool isAllowed(HttpRequest &request) const;

  RouteAnswer page(HttpRequest &request);
  using BodyParser = MaybeError(std::string_view, const ModelFacts &,
                                GenerationRequest &);
  /// Starts the generation that `parse` reads from the body.
  RouteAnswer generate(HttpRequest &request, BodyParser *parse,
                       std::string_view idPrefix);
  RouteAnswer completions(HttpRequest &request);
  RouteAnswer nativeCompletions(HttpRequest &request);
  RouteAnswer chat(HttpRequest &request);
  RouteAnswer messages(HttpRequest &request);
  RouteAnswer countTokens(HttpRequest &request);
  RouteAnswer responses(HttpRequest &request);
  RouteAnswer models(HttpRequest &request);
  RouteAnswer health(HttpRequest &request);
  RouteAnswer metrics(HttpRequest &request);
  RouteAnswer tokenize(HttpRequest &request);
  RouteAnswer detokenize(HttpRequest &request);
  RouteAnswer applyTemplate(HttpRequest &request);
  RouteAnswer version(HttpRequest &request);
  RouteAnswer props(HttpRequest &request);
  RouteAnswer slots(HttpRequest &request);
  RouteAnswer saveSlot(HttpRequest &request);
  RouteAnswer tokenizerInfo(HttpRequest &request);
  RouteAnswer load(HttpRequest &request);

  Dispatcher &dispatcher;
  const ServerOptions &options;
};

/// Compares a key with a client's text in a time that does not depend on their
/// first difference.
bool isSameKey(std::string_view key, std::string_view given);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_ROUTES_H
