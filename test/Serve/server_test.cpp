//===- server_test.cpp - A server over sockets ----------------------------===//

#include "test/Runtime/support/LosingExecutable.h"
#include "test/Serve/ServerRig.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// A context long enough for slow answers.
constexpr uint32_t kLong = 1 << 16;

} // namespace

TEST(Server, AnswersPipelinedRequestsInOrder) {
  Running running(open());
  Client client(running);
  client.complete(R"({"prompt": [1], "max_tokens": 2})");
  client.say("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
             "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::string text = client.read();
  size_t first = text.find("text_completion"), second = text.find("\"ok\""),
         third = text.find("\"version\"");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, third) << text;
  EXPECT_NE(third, text.npos) << text;
  EXPECT_TRUE(running.end().isOk());
}

TEST(Server, EndsBehindWhatIsAtHand) {
  Running running(open(4096));
  Client client(running), idle(running);
  client.complete(R"({"prompt": [1], "max_tokens": 3000, "stream": true})");
  EXPECT_TRUE(contains(client.read("token_ids"), "200 OK"));
  running.server->stop();
  std::string rest = client.read();
  EXPECT_TRUE(contains(rest, "\"finish_reason\": \"length\""));
  EXPECT_TRUE(contains(rest, "[DONE]"));
  EXPECT_EQ(idle.read(), "");
  EXPECT_TRUE(running.await().isOk());
}

// A request while the server ends is refused.
TEST(Server, SaysThatItEnds) {
  Running running(open(kLong));
  Client client(running);
  client.complete(R"({"prompt": [1], "max_tokens": 60000, "stream": true})");
  client.read("token_ids");
  running.server->stop();
  auto ask = [&](const std::string &line) {
    Client late(running);
    late.say(line + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return late.read();
  };
  // Wait until the server knows that it ends.
  std::string health;
  for (int turn = 0; turn < 3000 && !contains(health, "HTTP/1.1 503 "); ++turn)
    health = ask("GET /health");
  EXPECT_TRUE(contains(health, "HTTP/1.1 503 ")) << health;
  EXPECT_TRUE(contains(health, "Connection: close")) << health;
  EXPECT_TRUE(contains(ask("GET /metrics"), "HTTP/1.1 200 "));
  Client refused(running);
  refused.complete(R"({"prompt": [1], "max_tokens": 2})");
  std::string refusal = refused.read();
  EXPECT_TRUE(contains(refusal, "HTTP/1.1 503 ")) << refusal;
  EXPECT_TRUE(contains(refusal, "Retry-After")) << refusal;
  // A silent client does not delay the end.
  Client silent(running);
  EXPECT_TRUE(contains(client.read(), "[DONE]"));
  EXPECT_TRUE(running.await().isOk());
}

TEST(Server, EndsInTimeWhateverIsAtHand) {
  ServerOptions options;
  options.limits.shutdownSeconds = 0;
  Running running(open(kLong), options);
  Client client(running);
  client.complete(R"({"prompt": [1], "max_tokens": 60000, "stream": true})");
  client.read("token_ids");
  running.server->stop();
  EXPECT_TRUE(contains(client.read(), "\"finish_reason\": \"abort\""));
  EXPECT_TRUE(running.await().isOk());
}

TEST(Server, AClientThatClosesIsCancelled) {
  Running running(open(kLong));
  {
    Client gone(running), half(running), ahead(running);
    std::string whole = R"({"prompt": [1], "max_tokens": 60000})";
    gone.complete(R"({"prompt": [1], "max_tokens": 60000, "stream": true})");
    gone.read("token_ids");
    half.complete(whole);
    half.closeOneSide();
    EXPECT_EQ(half.read(), "");
    ahead.complete(whole);
    ahead.say("GET /health HTTP/1.1\r\n");
  }
  // The metrics show when the server has handled all of this.
  std::string metrics;
  for (int turn = 0; turn < 1000; ++turn) {
    Client other(running);
    other.say("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    metrics = other.read();
    if (contains(metrics, "\"abort\",model_name=\"fake\"} 3"))
      break;
    ::usleep(10000);
  }
  EXPECT_TRUE(contains(metrics, "\"abort\",model_name=\"fake\"} 3"));
  EXPECT_TRUE(contains(metrics, "\"length\",model_name=\"fake\"} 0"));
}

namespace {

/// Returns the ids in the events of a stream.
std::vector<int32_t> idsOf(const std::string &text) {
  constexpr std::string_view kIds = "\"token_ids\": [";
  std::vector<int32_t> ids;
  for (size_t at = text.find(kIds); at != text.npos; at = text.find(kIds, at)) {
    const char *next = text.c_str() + at + kIds.size();
    for (char *end = nullptr; *next != ']'; next = end + (*end == ','))
      ids.push_back(int32_t(std::strtol(next, &end, 10)));
    at += kIds.size();
  }
  return ids;
}

} // namespace

TEST(Server, ASlowReaderIsPausedAndHoldsUpNobody) {
  ServerOptions options;
  options.limits.streamBytes = 1 << 10;
  options.limits.kernelBytes = 8 << 10;
  FakeOptions fake;
  fake.maxContext = 16 << 10;
  SessionOptions one;
  one.maxSlots = 1;
  Running running(*Session::create(loadFakeModel(fake), one), options);
  Client slow(running, /*buffer=*/4 << 10);
  slow.complete(R"({"prompt": [1], "max_tokens": 12000, "stream": true})");
  ASSERT_TRUE(awaitMetric(running, "mtp:num_requests_paused{model_name=\"fake\""
                                   "} 1\n"));
  EXPECT_TRUE(awaitMetric(running, "vllm:kv_cache_usage_perc{model_name="
                                   "\"fake\"} 0\n"));
  // The only slot is free.
  Client other(running);
  other.complete(R"({"prompt": [2], "max_tokens": 500})");
  EXPECT_EQ(idsOf(other.read("usage")).size(), 500u);
  // It may go on briefly while the kernel accepts its output.
  EXPECT_TRUE(awaitMetric(running, "mtp:num_requests_paused{model_name=\"fake\""
                                   "} 1\n"));
  std::string text = slow.read("[DONE]");
  Request request;
  request.prompt = {1};
  request.maxTokens = 12000;
  // The ids of the prompt come first.
  std::vector<int32_t> expected = expectedOutput(request).tokens;
  EXPECT_EQ(idsOf(text).size(), expected.size());
  EXPECT_EQ(idsOf(text), expected);
}

TEST(Server, AnAnswerThatIsLateIsAnError) {
  Running running(open(kLong));
  Client whole(running), stream(running);
  whole.complete(R"({"prompt": [2], "max_tokens": 60000, "timeout": 0.2})");
  stream.complete(R"({"prompt": [1], "max_tokens": 60000, "stream": true,
                      "timeout": 0.2})");
  std::string answered = whole.read("timeout"),
              streamed = stream.read("0\r\n\r\n");
  EXPECT_TRUE(contains(answered, "HTTP/1.1 504 ")) << answered;
  EXPECT_TRUE(contains(streamed, "\"code\": \"timeout\""));
  EXPECT_FALSE(contains(streamed, "[DONE]"));
  EXPECT_TRUE(awaitMetric(running, "vllm:kv_cache_usage_perc{model_name="
                                   "\"fake\"} 0\n"));
}

TEST(Server, NoAnswerMayTakeLongerThanTheServersTime) {
  ServerOptions options;
  options.limits.requestSeconds = 1;
  Running running(open(kLong), options);
  Client client(running);
  client.complete(R"({"prompt": [2], "max_tokens": 60000, "timeout": 600})");
  EXPECT_TRUE(contains(client.read("timeout"), "HTTP/1.1 504 "));
}

namespace {

/// A server whose device is lost after a stream has begun and while an answer
/// of two sequences, sent as a whole, runs.
class LosingServer {
public:
  explicit LosingServer(Running::MakeSession fallback = {})
      : running(open(word), patient(), std::move(fallback)), whole(running),
        stream(running) {
    stream.complete(R"({"prompt": [1], "max_tokens": 60000, "stream": true})");
    streamed = stream.read("token_ids");
    whole.complete(R"({"prompt": [2], "max_tokens": 4000, "n": 2})");
    // Each prompt is one token, counted when its sequence has begun.
    EXPECT_TRUE(awaitMetric(
        running, "vllm:prompt_tokens_total{model_name=\"fake\"} 3\n"));
    *word = true;
    streamed += stream.read();
    answered = whole.read();
  }

  LosingExecutable::Word word = std::make_shared<std::atomic<bool>>(false);
  Running running;
  Client whole, stream;
  std::string streamed, answered;

private:
  /// Returns options for retries, which may take as long as a busy machine
  /// needs.
  static ServerOptions patient() {
    ServerOptions options;
    options.limits.shutdownSeconds = 600;
    return options;
  }
  static std::unique_ptr<Session> open(LosingExecutable::Word word) {
    FakeOptions fake;
    fake.maxContext = kLong;
    return openLosing(loadFakeModel(fake), {}, kNever, kNever, std::move(word));
  }
};

} // namespace

TEST(Server, AFailedStepIsAnsweredAndEndsIt) {
  LosingServer server;
  EXPECT_TRUE(contains(server.streamed, "the device is lost"));
  EXPECT_FALSE(contains(server.streamed, "[DONE]"));
  EXPECT_TRUE(contains(server.answered, "HTTP/1.1 500 ")) << server.answered;
  EXPECT_TRUE(contains(server.answered, "server_error"));
  EXPECT_EQ(server.running.await().message(), "the device is lost");
}

TEST(Server, WhatHasBeenGivenNothingIsRetriedOnce) {
  FakeOptions fake;
  fake.maxContext = kLong;
  LosingServer server([fake] { return openFake(fake); });
  EXPECT_TRUE(contains(server.streamed, "the device is lost"));
  EXPECT_TRUE(contains(server.answered, "HTTP/1.1 200 OK"))
      << server.answered.substr(0, 500);
  EXPECT_EQ(idsOf(server.answered).size(), 8000u);
  EXPECT_EQ(server.running.await().message(), "the device is lost");
}

TEST(Server, WhatCannotBeRetriedIsAnError) {
  FakeOptions fake;
  fake.maxContext = kLong;
  Running running(openLosing(loadFakeModel(fake), {}, /*runs=*/2000), {},
                  []() -> Result<std::unique_ptr<Session>> {
                    return unavailable("no memory for another");
                  });
  Client whole(running);
  whole.complete(R"({"prompt": [2], "max_tokens": 20000})");
  std::string answered = whole.read();
  EXPECT_TRUE(contains(answered, "HTTP/1.1 500 ")) << answered;
  EXPECT_TRUE(contains(answered, "no memory for another"));
  EXPECT_EQ(running.await().message(), "the device is lost");
}

TEST(Server, APortIsOneServers) {
  Running running(open());
  ServerOptions options;
  options.port = running.server->port();
  auto second = Server::create(open(), running.facts, options);
  ASSERT_FALSE(second.isOk());
  EXPECT_EQ(second.status().code(), StatusCode::Unavailable);
  EXPECT_TRUE(contains(std::string(second.status().message()), "--port"));
  options.host = "no such host";
  second = Server::create(open(), running.facts, options);
  EXPECT_EQ(second.status().code(), StatusCode::InvalidArgument);
}
