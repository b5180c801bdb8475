//===- RoutesRig.h - Routes without sockets ---------------------*- C++ -*-===//

#ifndef MTP_TEST_SERVE_ROUTESRIG_H
#define MTP_TEST_SERVE_ROUTESRIG_H

#include "test/Runtime/support/FakeModel.h"
#include "tools/mtp-serve/http/Routes.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// Routes whose I/O thread is the test's.
class RoutesRig {
public:
  explicit RoutesRig(uint32_t waiting = 64, serve::ServerOptions given = {})
      : options(std::move(given)),
        dispatcher(
            openFake(), makeFacts(facts), limitsOf(options, waiting),
            [this](std::function<void()> call) { calls.put(std::move(call)); }),
        routes(dispatcher, options) {}

  serve::RouteAnswer ask(std::string method, std::string path,
                         std::string body = "",
                         std::string type = "application/json",
                         std::string authorization = "") {
    serve::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.contentType = std::move(type);
    request.authorization = std::move(authorization);
    request.id = "id";
    return send(std::move(request));
  }
  serve::RouteAnswer send(serve::HttpRequest request) {
    if (auto refusal = routes.answerHeader(request))
      return {std::move(*refusal), nullptr, nullptr};
    serve::RouteAnswer answer = routes.answer(request);
    if (answer.text)
      answer.reply = answer.text->work();
    return answer;
  }
  /// Returns the answer to a completion's body.
  std::string complete(const std::string &body) {
    return post("/v1/completions", body);
  }
  /// Returns the answer to a body that asks for output: JSON, or all events.
  std::string post(const char *path, const std::string &body) {
    serve::RouteAnswer answer = ask("POST", path, body);
    if (!answer.generation)
      return answer.reply.body;
    while (!answer.generation->hasEnded())
      pump();
    if (answer.generation->error())
      return serve::errorJson(*answer.generation->error());
    if (!answer.generation->streams())
      return answer.generation->answer();
    std::string events;
    while (!answer.generation->isFinished())
      events += answer.generation->takeEvents();
    return events;
  }
  void pump() {
    for (auto &call : calls.take(/*mayWait=*/true))
      call();
  }

  static serve::ModelFacts &makeFacts(serve::ModelFacts &facts) {
    facts.names = {"fake", "alias"};
    facts.vocab = 64;
    facts.maxContext = 96;
    facts.maxK = 4;
    facts.slots = 4;
    return facts;
  }

  static serve::Limits limitsOf(const serve::ServerOptions &options,
                                uint32_t waiting) {
    serve::Limits limits = options.limits;
    limits.waiting = waiting;
    return limits;
  }

  serve::ServerOptions options;
  serve::ModelFacts facts;
  serve::MpscQueue<std::function<void()>> calls;
  serve::Dispatcher dispatcher;
  serve::Routes routes;
};

} // namespace mtp::test

#endif // MTP_TEST_SERVE_ROUTESRIG_H
