//===- http_reader_test.cpp - Replies and events in pieces ----------------===//

#include "tools/mtp-bench/serve/EventReader.h"
#include "tools/mtp-bench/serve/HttpReader.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::bench;

namespace {
struct Reply {
  HttpReader reader;
  std::string body;
  Status status;
};
} // namespace

/// Reads a reply in pieces of `piece` bytes.
static Reply readIn(size_t piece, std::string_view bytes) {
  Reply reply;
  for (; !bytes.empty() && reply.status.isOk();
       bytes.remove_prefix(std::min(piece, bytes.size())))
    reply.status = reply.reader.take(bytes.substr(0, piece), reply.body);
  return reply;
}

TEST(HttpReader, ABodyIsTheSameInWhateverPiecesItComes) {
  const char *sized = "HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello";
  const char *chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "3;x=y\r\nhel\r\nA\r\nlo, world!\r\n0\r\nA: b\r\n\r\n";
  for (size_t piece : {1, 2, 7, 1000}) {
    Reply reply = readIn(piece, sized);
    EXPECT_TRUE(reply.status.isOk() && reply.reader.isComplete());
    EXPECT_EQ(reply.body, "hello");
    reply = readIn(piece, chunked);
    EXPECT_TRUE(reply.status.isOk() && reply.reader.isComplete()) << piece;
    EXPECT_EQ(reply.body, "hello, world!");
    EXPECT_TRUE(reply.reader.keepsAlive());
  }
}

TEST(HttpReader, AStatusIsThatBehindAContinue) {
  Reply reply =
      readIn(3, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too many\r\n"
                "Connection: Close\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(reply.reader.isComplete());
  EXPECT_EQ(reply.reader.status(), 429);
  EXPECT_FALSE(reply.reader.keepsAlive());
}

TEST(HttpReader, ABodyWithoutLengthEndsWithTheConnection) {
  Reply reply = readIn(4, "HTTP/1.0 200 OK\r\n\r\nall of it");
  EXPECT_FALSE(reply.reader.isComplete());
  EXPECT_TRUE(reply.reader.takeEnd().isOk());
  EXPECT_TRUE(reply.reader.isComplete());
  EXPECT_FALSE(reply.reader.keepsAlive());
  EXPECT_EQ(reply.body, "all of it");
  // A reply that ends early is not complete.
  reply = readIn(4, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
  EXPECT_FALSE(reply.reader.takeEnd().isOk());
}

TEST(HttpReader, WhatIsNoReplyIsAnError) {
  const char *aboveLimit = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                           "\r\n11111111111111111\r\n";
  for (const char *bytes :
       {"SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1 200 OK\r\nno field\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        aboveLimit, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"})
    EXPECT_FALSE(readIn(1000, bytes).status.isOk()) << bytes;
  EXPECT_FALSE(readIn(1000, std::string(100000, 'a')).status.isOk());
}

/// Returns the events of a body read in pieces of `piece` bytes.
static std::vector<StreamEvent> eventsIn(size_t piece, std::string_view body) {
  EventReader reader;
  std::vector<StreamEvent> events;
  StreamEvent event;
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) {
    reader.append(body.substr(0, piece));
    for (;;) {
      Result<bool> next = reader.next(event);
      EXPECT_TRUE(next) << next.status().toString();
      if (!next || !*next)
        break;
      events.push_back(event);
    }
  }
  return events;
}

TEST(EventReader, WhatServersSendIsTold) {
  const char *body =
      // A completion with ids, as mtp-serve and vLLM send it.
      "data: {\"choices\": [{\"text\": \"\", \"token_ids\": [5, 6, 7]}], "
      "\"usage\": null}\n\n"
      // A chat whose first event has only a role; carriage returns.
      ": a comment\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\","
      "\"content\":null}}]}\r\n\r\n"
      "data:{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"y\"}}]}\n\n"
      // The last event of llama.cpp's server.
      "data: {\"choices\":[],\"usage\":{\"completion_tokens\":7,"
      "\"prompt_tokens\":3,\"total_tokens\":10,\"prompt_tokens_details\":"
      "{\"cached_tokens\":2}},\"timings\":{\"prompt_n\":1}}\n\n"
      "data: [DONE]\n\n";
  for (size_t piece : {1, 5, 10000}) {
    std::vector<StreamEvent> events = eventsIn(piece, body);
    ASSERT_EQ(events.size(), 6u);
    EXPECT_TRUE(events[0].hasOutput);
    EXPECT_EQ(events[0].ids, 3u);
    EXPECT_FALSE(events[0].outputTokens);
    EXPECT_FALSE(events[1].hasOutput);
    EXPECT_TRUE(events[2].hasOutput);
    EXPECT_TRUE(events[3].hasOutput);
    EXPECT_EQ(events[4].outputTokens, 7u);
    EXPECT_EQ(events[4].promptTokens, 3u);
    EXPECT_EQ(events[4].cachedTokens, 2u);
    EXPECT_FALSE(events[4].isLast);
    EXPECT_TRUE(events[5].isLast);
  }
}

TEST(EventReader, AnErrorIsToldAndOtherThingsAreErrors) {
  auto events = eventsIn(100, "data: {\"error\": {\"message\": \"no\"}}\n\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].error, "no");
  EventReader reader;
  reader.append("data: {\"choices\": [\n");
  StreamEvent event;
  EXPECT_FALSE(reader.next(event));
}
