//===- bodies_test.cpp - Headers and bodies over sockets ------------------===//

#include "test/Serve/ServerRig.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// Returns the header of a completion with additional fields.
std::string header(const std::string &fields, const char *path = "completions",
                   const char *version = "1.1") {
  return "POST /v1/" + std::string(path) + " HTTP/" + version +
         "\r\nHost: x\r\nContent-Type: application/json\r\n" + fields +
         "\r\n\r\n";
}

std::string sized(size_t bytes) {
  return header("Content-Length: " + std::to_string(bytes));
}

/// Returns the answer to a client that sends no more, until the server closes.
std::string answerTo(const Running &running, const std::string &text) {
  Client client(running);
  client.say(text);
  return client.read();
}

constexpr const char *kBody = R"({"prompt": [1], "max_tokens": 2})";

} // namespace

TEST(Bodies, AreNotReadWithoutAKey) {
  ServerOptions options;
  options.keys = {"key"};
  Running running(open(), options);
  // No body is sent, so an answer is to the header.
  EXPECT_TRUE(contains(answerTo(running, sized(1000)), "HTTP/1.1 401 "));
  std::string asks = header("Content-Length: 1000\r\nExpect: 100-continue");
  std::string answer = answerTo(running, asks);
  EXPECT_TRUE(contains(answer, "HTTP/1.1 401 ")) << answer;
  EXPECT_FALSE(contains(answer, "100 Continue")) << answer;
}

TEST(Bodies, AreNotReadWhereTheHeaderIsWrong) {
  Running running(open());
  EXPECT_TRUE(
      contains(answerTo(running, header("Content-Length: 1000", "nothing")),
               "HTTP/1.1 404 "));
  EXPECT_TRUE(contains(answerTo(running, "PUT /v1/completions HTTP/1.1\r\n"
                                         "Content-Length: 1000\r\n\r\n"),
                       "HTTP/1.1 405 "));
  // A browser adds these fields to a page's request.
  for (const char *field :
       {"Origin: null", "Origin: http://a", "Sec-Fetch-Site: cross-site",
        "Referer: http://a/", "Cookie: a=b"})
    EXPECT_TRUE(contains(
        answerTo(running, std::string("POST /v1/completions HTTP/1.1\r\n"
                                      "Content-Type: text/plain\r\n") +
                              field + "\r\nContent-Length: 1000\r\n\r\n"),
        "HTTP/1.1 415 "))
        << field;
  EXPECT_TRUE(contains(answerTo(running, "GET / HTTP/1.1\r\n"
                                         "Content-Length: 100000\r\n\r\n"),
                       "HTTP/1.1 413 "));
}

TEST(Bodies, NameFieldsThatAreIgnored) {
  Running running(open());
  std::string body = R"({"prompt": [1], "odd one": 1, "seen": 2})";
  for (const char *stream : {"", "true"}) {
    std::string given = body;
    if (*stream)
      given.insert(1, "\"stream\": true, ");
    std::string answer = answerTo(
        running, "POST /v1/completions/ HTTP/1.1\r\nHost: x\r\n"
                 "Connection: close\r\nContent-Length: " +
                     std::to_string(given.size()) + "\r\n\r\n" + given);
    EXPECT_TRUE(contains(answer, "HTTP/1.1 200 ")) << answer;
    EXPECT_TRUE(contains(answer, "X-Ignored-Fields: odd?one, seen\r\n"))
        << answer;
  }
}

TEST(Bodies, OfErrorsAreText) {
  Running running(open());
  std::string answer =
      answerTo(running, "GET /\xff HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(contains(answer, "got '/\xEF\xBF\xBD'")) << answer;
}

TEST(Bodies, WhatTheHeaderSaysIsNotATrailers) {
  ServerOptions options;
  options.keys = {"key"};
  Running running(open(), options);
  std::string answer = answerTo(
      running, header("Transfer-Encoding: chunked\r\nConnection: close") +
                   "0\r\nAuthorization: Bearer key\r\n\r\n");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 401 ")) << answer;
}

// RFC 9112, 6.3: the length after such a header is ambiguous, so a proxy and a
// server may disagree where the next request begins.
TEST(Bodies, OfNoCertainLengthEndTheConnection) {
  Running running(open());
  std::string next = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const char *fields :
       {"Transfer-Encoding: chunked, identity", "Transfer-Encoding: gzip",
        "Transfer-Encoding: xchunked", "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:", "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6", "Content-Length: +5"}) {
    std::string answer = answerTo(running, header(fields) + "0\r\n\r\n" + next);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << fields << answer;
    EXPECT_FALSE(contains(answer, "\"version\"")) << fields << answer;
  }
  std::string answer = answerTo(
      running,
      header("Transfer-Encoding: chunked", "completions", "1.0") + next);
  EXPECT_TRUE(contains(answer, " 400 ")) << answer;
  // The name of the chunked encoding is case-insensitive.
  answer = answerTo(
      running, header("Transfer-Encoding: \tChunked \r\nConnection: close") +
                   "20\r\n" + kBody + "\r\n0\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
}

TEST(Bodies, AreRefusedWhereAllTakeTooMuch) {
  ServerOptions options;
  options.limits.bodiesBytes = 10000;
  Running running(open(), options);
  Client first(running), second(running);
  first.say(sized(9000));
  // Wait until the server has the first body.
  ASSERT_TRUE(awaitMetric(
      running, "mtp:request_body_bytes{model_name=\"fake\"} 9000\n"));
  second.say(sized(2000));
  std::string refused = second.read();
  EXPECT_TRUE(contains(refused, "HTTP/1.1 503 ")) << refused;
  EXPECT_TRUE(contains(refused, "Retry-After: ")) << refused;
  // A chunked body states its size only as it arrives.
  Client chunks(running);
  chunks.say(header("Transfer-Encoding: chunked") + "800\r\n" +
             std::string(0x800, ' '));
  EXPECT_TRUE(contains(chunks.read(), "HTTP/1.1 503 "));
  // A small body has room, and released bytes can be used again.
  EXPECT_TRUE(contains(answerTo(running, header("Connection: close\r\n"
                                                "Content-Length: 32") +
                                             kBody),
                       "HTTP/1.1 200 "));
  first.closeOneSide();
  first.read();
  ASSERT_TRUE(
      awaitMetric(running, "mtp:request_body_bytes{model_name=\"fake\"} 0\n"));
  std::string body = kBody;
  body += std::string(9000 - body.size(), ' ');
  EXPECT_TRUE(contains(
      answerTo(running,
               header("Connection: close\r\nContent-Length: 9000") + body),
      "HTTP/1.1 200 "));
}

TEST(Bodies, OfOneKeyTakeHalfAtMost) {
  ServerOptions options;
  options.keys = {"first", "second"};
  options.limits.bodiesBytes = 10000;
  Running running(open(), options);
  auto ask = [&](const char *key, size_t bytes) {
    return header("Content-Length: " + std::to_string(bytes) +
                  "\r\nAuthorization: Bearer " + key);
  };
  Client first(running), more(running), other(running);
  // The one I/O thread handles both, in this order, once the first gets "100
  // Continue".
  first.say(header("Expect: 100-continue\r\nContent-Length: 4000\r\n"
                   "Authorization: Bearer first"));
  EXPECT_TRUE(contains(first.read("\r\n\r\n"), "100 Continue"));
  more.say(ask("first", 2000));
  std::string refused = more.read();
  EXPECT_TRUE(contains(refused, "HTTP/1.1 429 ")) << refused;
  EXPECT_TRUE(contains(refused, "Retry-After: ")) << refused;
  other.say(ask("second", 2000) + std::string(2000, ' '));
  EXPECT_TRUE(contains(other.read("}}"), "HTTP/1.1 400 "));
}

TEST(Bodies, ThatComeSlowlyAreNotWaitedFor) {
  ServerOptions options;
  options.limits.bodySeconds = 1;
  Running running(open(), options);
  Client slow(running);
  slow.say(sized(1000000));
  // A byte now and then does not extend the time limit.
  while (slow.trySay(" "))
    ::usleep(20000);
  EXPECT_TRUE(
      awaitMetric(running, "mtp:request_body_bytes{model_name=\"fake\"} 0\n"));
  EXPECT_TRUE(contains(answerTo(running, header("Connection: close\r\n"
                                                "Content-Length: 32") +
                                             kBody),
                       "HTTP/1.1 200 "));
}
