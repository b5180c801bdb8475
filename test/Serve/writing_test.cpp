//===- writing_test.cpp - Fast and slow readers ---------------------------===//

#include "test/Serve/ServerRig.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// Returns a server with a patience of two seconds, and an answer larger than
/// kernel buffers.
ServerOptions impatient() {
  ServerOptions options;
  options.limits.writeSeconds = 2;
  options.limits.kernelBytes = 8 << 10;
  return options;
}

constexpr const char *kLongAnswer =
    R"({"prompt": [1], "max_tokens": 8000, "n": 4, "return_token_ids": true})";

} // namespace

TEST(Writing, WhoReadsSlowlyIsWaitedFor) {
  Running running(open(16 << 10), impatient());
  Client slow(running, /*buffer=*/4 << 10);
  slow.complete(kLongAnswer);
  // It takes longer than the server's patience, but is never idle for long.
  std::string text;
  for (int turn = 0; turn < 30; ++turn) {
    text += slow.readSome(2 << 10);
    ::usleep(100000);
  }
  text += slow.read("total_tokens");
  EXPECT_TRUE(contains(text, "\"completion_tokens\": 32000"))
      << text.size() << text.substr(text.size() - 100);
}

TEST(Writing, WhoDoesNotReadIsNot) {
  Running running(open(16 << 10), impatient());
  Client idle(running, /*buffer=*/4 << 10);
  idle.complete(kLongAnswer);
  // Without connections the server ends by itself.
  EXPECT_TRUE(awaitMetric(
      running, "finished_reason=\"length\",model_name=\"fake\"} 4\n"));
  running.server->stop();
  EXPECT_TRUE(running.await().isOk());
  std::string text = idle.read();
  EXPECT_FALSE(contains(text, "completion_tokens")) << text.size();
}
