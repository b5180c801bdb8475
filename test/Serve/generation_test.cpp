//===- generation_test.cpp - Answers from events of sequences -------------===//

#include "test/Runtime/support/ByteTokenizer.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/mtp-serve/engine/Generation.h"

#include <gtest/gtest.h>
#include <set>
#include <simdjson.h>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// A generation of ids, and the sequences that it has cancelled.
struct Rig {
  explicit Rig(std::string_view body, const Tokenizer *tokenizer = nullptr,
               bool isChat = false) {
    facts.names = {"tiny"};
    facts.tokenizer = tokenizer;
    facts.vocab = 300;
    facts.maxContext = 96;
    GenerationRequest request;
    MaybeError error = parseCompletion(body, facts, request);
    EXPECT_FALSE(error) << error->message;
    std::vector<PreparedPrompt> prompts;
    EXPECT_FALSE(preparePrompts(request, facts, prompts));
    request.isChat = isChat;
    SequenceControls controls = {
        [this](Handle handle) { cancelled.push_back(handle); },
        [this](Handle handle) { paused.insert(handle); },
        [this](Handle handle) { paused.erase(handle); }};
    generation = std::make_unique<Generation>(request, facts, "cmpl-1", 1000, 5,
                                              controls, /*mostPending=*/64);
    generation->begin(prompts);
  }

  void give(Handle handle, std::vector<int32_t> tokens,
            FinishReason finish = FinishReason::None, uint32_t drafted = 0) {
    EngineEvent event;
    event.handle = handle;
    event.tokens = std::move(tokens);
    event.drafted = drafted;
    event.finish = finish;
    event.statistics.slotRounds = slotRounds;
    event.statistics.drafted = {2, 1};
    event.statistics.accepted = {1, 0};
    event.statistics.cachedTokens = 8;
    generation->take(event);
  }
  void accept(Handle handle) {
    EngineEvent event;
    event.handle = handle;
    event.accepted = true;
    generation->take(event);
  }
  void fail(Handle handle, Status status) {
    EngineEvent event;
    event.handle = handle;
    event.finish = FinishReason::Failed;
    event.error = std::move(status);
    generation->take(event);
  }

  ModelFacts facts;
  uint64_t slotRounds = 2;
  std::vector<Handle> cancelled;
  std::set<Handle> paused;
  std::unique_ptr<Generation> generation;
};

/// Returns the data of the events, and checks the framing of each.
std::vector<std::string> dataOf(std::string events) {
  std::vector<std::string> all;
  while (!events.empty()) {
    size_t end = events.find("\n\n");
    EXPECT_TRUE(events.starts_with("data: ") && end != events.npos) << events;
    all.push_back(events.substr(6, end - 6));
    events.erase(0, end + 2);
  }
  return all;
}

std::string at(simdjson::dom::parser &parser, const std::string &json,
               const char *pointer) {
  simdjson::dom::element element;
  if (parser.parse(json).at_pointer(pointer).get(element))
    return "nothing";
  return simdjson::minify(element);
}

} // namespace

TEST(Generation, GivesOneAnswer) {
  Rig rig(R"({"prompt": [1, 2], "n": 2})");
  EXPECT_FALSE(rig.generation->hasStarted());
  rig.accept(5);
  EXPECT_FALSE(rig.generation->hasStarted());
  rig.accept(6);
  EXPECT_TRUE(rig.generation->hasStarted());
  rig.give(6, {10, 11});
  rig.give(5, {20}, FinishReason::Length);
  EXPECT_FALSE(rig.generation->hasEnded());
  rig.give(6, {12}, FinishReason::Stop);
  ASSERT_TRUE(rig.generation->hasEnded());
  std::string json = rig.generation->answer();
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, json, "/object"), "\"text_completion\"");
  EXPECT_EQ(at(p, json, "/id"), "\"cmpl-1\"");
  EXPECT_EQ(at(p, json, "/choices/0/token_ids"), "[20]");
  EXPECT_EQ(at(p, json, "/choices/0/finish_reason"), "\"length\"");
  EXPECT_EQ(at(p, json, "/choices/1/index"), "1");
  EXPECT_EQ(at(p, json, "/choices/1/token_ids"), "[10,11,12]");
  EXPECT_EQ(at(p, json, "/choices/1/prompt_token_ids"), "[1,2]");
  EXPECT_EQ(at(p, json, "/choices/1/finish_reason"), "\"stop\"");
  EXPECT_EQ(at(p, json, "/usage/prompt_tokens"), "2");
  EXPECT_EQ(at(p, json, "/usage/completion_tokens"), "4");
  EXPECT_EQ(at(p, json, "/usage/total_tokens"), "6");
  EXPECT_EQ(at(p, json, "/usage/prompt_tokens_details/cached_tokens"), "8");
  EXPECT_EQ(at(p, json, "/usage/speculation/rounds"), "4");
  EXPECT_EQ(at(p, json, "/usage/speculation/drafted_tokens"), "6");
  EXPECT_EQ(at(p, json, "/usage/speculation/accepted_by_position"), "[2,0]");
  EXPECT_TRUE(rig.cancelled.empty());
}

TEST(Generation, StreamsWhatIsNew) {
  Rig rig(R"({"prompt": [1, 2], "stream": true,
              "stream_options": {"include_usage": true}})");
  Generation &g = *rig.generation;
  int calls = 0;
  g.setListener([&calls] { ++calls; });
  rig.accept(5);
  EXPECT_FALSE(g.hasNews());
  rig.give(5, {3, 4});
  rig.give(5, {5});
  EXPECT_EQ(calls, 3);
  simdjson::dom::parser p;
  std::vector<std::string> events = dataOf(g.takeEvents());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(at(p, events[0], "/choices/0/token_ids"), "[3,4,5]");
  EXPECT_EQ(at(p, events[0], "/choices/0/finish_reason"), "null");
  EXPECT_EQ(at(p, events[0], "/usage"), "null");
  EXPECT_FALSE(g.hasNews());
  EXPECT_EQ(g.takeEvents(), "");
  rig.give(5, {}, FinishReason::Stop);
  events = dataOf(g.takeEvents());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(at(p, events[0], "/choices/0/finish_reason"), "\"stop\"");
  EXPECT_EQ(at(p, events[0], "/choices/0/token_ids"), "[]");
  EXPECT_EQ(at(p, events[0], "/choices/0/prompt_token_ids"), "nothing");
  EXPECT_EQ(at(p, events[1], "/choices"), "[]");
  EXPECT_EQ(at(p, events[1], "/usage/completion_tokens"), "3");
  EXPECT_EQ(events[2], "[DONE]");
  EXPECT_TRUE(g.isFinished());
  EXPECT_FALSE(g.hasNews());
}

TEST(Generation, SaysHowManyTokensCameTogether) {
  Rig rig(R"({"prompt": [1], "stream": true, "return_round_tokens": true})");
  rig.accept(5);
  rig.give(5, {2, 3, 4});
  rig.give(5, {5}, FinishReason::None, /*drafted=*/2);
  std::vector<std::string> first = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(first.size(), 1u);
  EXPECT_NE(first[0].find("\"round_tokens\": [3, 1]"), std::string::npos)
      << first[0];
  EXPECT_NE(first[0].find("\"round_drafted\": [0, 2]"), std::string::npos)
      << first[0];
  rig.give(5, {6, 7}, FinishReason::Length);
  std::vector<std::string> last = dataOf(rig.generation->takeEvents());
  EXPECT_NE(last[0].find("\"round_tokens\": [2]"), std::string::npos)
      << last[0];
}

TEST(Generation, StreamsHaveUsageWhereAskedForAlone) {
  Rig rig(R"({"prompt": [1, 2], "stream": true})");
  rig.accept(5);
  rig.give(5, {3}, FinishReason::Length);
  std::vector<std::string> events = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(events.size(), 3u);
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, events[0], "/usage"), "nothing");
  EXPECT_EQ(at(p, events[1], "/usage"), "nothing");
  EXPECT_EQ(events[2], "[DONE]");
}

// Clients modelled on llama.cpp's server read no text of the last part.
TEST(Generation, EndsAStreamWithAPartWithoutText) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig(R"({"prompt": [1, 2], "stream": true, "return_round_tokens": true})",
          tokenizer.get());
  rig.accept(5);
  rig.give(5, {'a', 'b'}, FinishReason::Length);
  std::vector<std::string> events = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(events.size(), 3u);
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, events[0], "/choices/0/text"), "\"ab\"");
  EXPECT_EQ(at(p, events[0], "/choices/0/finish_reason"), "null");
  EXPECT_EQ(at(p, events[0], "/choices/0/round_tokens"), "[2]");
  EXPECT_EQ(at(p, events[1], "/choices/0/text"), "\"\"");
  EXPECT_EQ(at(p, events[1], "/choices/0/finish_reason"), "\"length\"");
  EXPECT_EQ(events[2], "[DONE]");
}

TEST(Generation, EndsAChatWithAnEmptyDelta) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  for (const std::vector<int32_t> &tokens :
       {std::vector<int32_t>{'a'}, std::vector<int32_t>{}}) {
    Rig rig(R"({"prompt": [1, 2], "stream": true})", tokenizer.get(),
            /*isChat=*/true);
    rig.accept(5);
    rig.give(5, tokens, FinishReason::Stop);
    std::vector<std::string> events = dataOf(rig.generation->takeEvents());
    ASSERT_EQ(events.size(), 3u);
    simdjson::dom::parser p;
    EXPECT_EQ(at(p, events[0], "/choices/0/delta/role"), "\"assistant\"");
    EXPECT_EQ(at(p, events[0], "/choices/0/delta/content"),
              tokens.empty() ? "\"\"" : "\"a\"");
    EXPECT_EQ(at(p, events[0], "/choices/0/finish_reason"), "null");
    EXPECT_EQ(at(p, events[1], "/choices/0/delta"), "{}");
    EXPECT_EQ(at(p, events[1], "/choices/0/finish_reason"), "\"stop\"");
  }
}

// bugreports/n: vllm-project/guidellm#603, sglang#12241, vllm#5742.
TEST(Generation, StreamsHaveTheUsageSoFarWhereAskedFor) {
  Rig rig(R"({"prompt": [1, 2], "stream": true, "stream_options":
              {"include_usage": true, "continuous_usage_stats": true}})");
  rig.accept(5);
  simdjson::dom::parser p;
  for (int tokens : {1, 2}) {
    rig.give(5, {3});
    std::vector<std::string> events = dataOf(rig.generation->takeEvents());
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(at(p, events[0], "/usage/prompt_tokens"), "2");
    EXPECT_EQ(at(p, events[0], "/usage/completion_tokens"),
              std::to_string(tokens));
    EXPECT_EQ(at(p, events[0], "/usage/total_tokens"),
              std::to_string(tokens + 2));
  }
  rig.give(5, {}, FinishReason::Stop);
  std::vector<std::string> events = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(at(p, events[0], "/usage/completion_tokens"), "2");
  EXPECT_EQ(at(p, events[1], "/usage/completion_tokens"), "2");
  EXPECT_EQ(at(p, events[1], "/usage/speculation/rounds"), "2");
}

// Tokens that the engine computes before it learns of a stop string do not
// count.
TEST(Generation, TakesTimesFromTheEnginesEvents) {
  Rig rig(R"({"prompt": [1], "max_tokens": 2, "timings_per_token": true})");
  rig.accept(5);
  auto begin = Clock::now();
  EngineEvent event;
  event.handle = 5;
  event.admitted = begin;
  event.time = begin + std::chrono::seconds(1);
  rig.generation->take(event);
  event.admitted.reset();
  event.time = begin + std::chrono::seconds(3);
  event.tokens = {7};
  rig.generation->take(event);
  event.time = begin + std::chrono::seconds(8);
  event.finish = FinishReason::Length;
  rig.generation->take(event);
  std::string json = rig.generation->answer();
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, json, "/timings/prompt_ms"), "3000") << json;
  EXPECT_EQ(at(p, json, "/timings/predicted_ms"), "5000") << json;
}

TEST(Generation, CountsNothingBehindAStopString) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig(R"({"prompt": [1, 2], "stop": "bc"})", tokenizer.get());
  rig.accept(5);
  rig.give(5, {'a', 'b', 'c', 'd'});
  EXPECT_EQ(rig.cancelled, (std::vector<Handle>{5}));
  rig.slotRounds = 9;
  rig.give(5, {'e', 'f'});
  EXPECT_EQ(rig.generation->finishOf(5), FinishReason::Stop);
  rig.give(5, {}, FinishReason::Cancelled);
  ASSERT_TRUE(rig.generation->hasEnded());
  EXPECT_EQ(rig.generation->finishOf(5), FinishReason::Stop);
  std::string json = rig.generation->answer();
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, json, "/choices/0/text"), "\"a\"");
  EXPECT_EQ(at(p, json, "/choices/0/finish_reason"), "\"stop\"");
  EXPECT_EQ(at(p, json, "/usage/completion_tokens"), "3");
  EXPECT_EQ(at(p, json, "/usage/speculation/rounds"), "2");
  EXPECT_EQ(at(p, json, "/usage/speculation/accepted_tokens"), "1");
  EXPECT_EQ(at(p, json, "/usage/prompt_tokens_details/cached_tokens"), "8");
}

// A step that fails after the stop string does not affect the answer.
TEST(Generation, AnAnswerThatAStopStringEndedStaysWhole) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig(R"({"prompt": [1, 2], "stop": "b"})", tokenizer.get());
  rig.accept(5);
  rig.give(5, {'a', 'b'});
  rig.fail(5, internalError("the device is lost"));
  ASSERT_TRUE(rig.generation->hasEnded());
  EXPECT_FALSE(rig.generation->error());
  simdjson::dom::parser p;
  std::string json = rig.generation->answer();
  EXPECT_EQ(at(p, json, "/choices/0/text"), "\"a\"");
}

// Ids without a token have no text (bugreports/a: pegainfer#673,
// transformers#35244); an impossible id is the server's fault.
TEST(Generation, BlamesNobodyForItsOwnOutput) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig(R"({"prompt": [1, 290], "echo": true})", tokenizer.get());
  rig.accept(5);
  rig.give(5, {'a', 290, 'b'}, FinishReason::Length);
  simdjson::dom::parser p;
  std::string json = rig.generation->answer();
  EXPECT_EQ(at(p, json, "/choices/0/text"), "\"\\u0001ab\"");
  Rig wrong(R"({"prompt": [1]})", tokenizer.get());
  wrong.accept(5);
  wrong.give(5, {-5});
  ASSERT_TRUE(wrong.generation->error());
  EXPECT_EQ(wrong.generation->error()->status, 500u);
}

TEST(Generation, ARefusalIsTheRequests) {
  Rig rig(R"({"prompt": [[1], [2]]})");
  rig.accept(5);
  rig.fail(6, resourceExhausted("expected less"));
  EXPECT_TRUE(rig.generation->hasStarted());
  ASSERT_TRUE(rig.generation->error());
  EXPECT_EQ(rig.generation->error()->status, 400u);
  // The other sequence is not needed any more.
  EXPECT_EQ(rig.cancelled, (std::vector<Handle>{5}));
}

TEST(Generation, AFailureLaterIsTheServers) {
  Rig rig(R"({"prompt": [1], "stream": true})");
  rig.accept(5);
  rig.give(5, {3});
  EXPECT_EQ(dataOf(rig.generation->takeEvents()).size(), 1u);
  rig.fail(5, invalidArgument("something broke"));
  EXPECT_EQ(rig.generation->error()->status, 500u);
  std::vector<std::string> events = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(events.size(), 1u);
  simdjson::dom::parser p;
  EXPECT_EQ(at(p, events[0], "/error/message"), "\"something broke\"");
  EXPECT_EQ(at(p, events[0], "/error/type"), "\"server_error\"");
  EXPECT_TRUE(rig.generation->isFinished());
}

TEST(Generation, AFailureLaterMayBeTheRequests) {
  Rig rig(R"({"prompt": [1]})");
  rig.accept(5);
  EngineEvent event;
  event.handle = 5;
  event.finish = FinishReason::Failed;
  event.error = invalidArgument("no token can follow");
  event.isRequestsFault = true;
  rig.generation->take(event);
  EXPECT_EQ(rig.generation->error()->status, 400u);
}

TEST(Generation, AbortCancelsWhatRuns) {
  Rig rig(R"({"prompt": [[1], [2], [3]]})");
  for (Handle handle : {5, 6, 7})
    rig.accept(handle);
  rig.give(6, {1}, FinishReason::Stop);
  rig.generation->abort();
  EXPECT_EQ(rig.cancelled, (std::vector<Handle>{5, 7}));
  rig.generation->abandon();
  rig.generation->abort();
  EXPECT_EQ(rig.cancelled.size(), 2u);
}

// 64 bytes are 16 ids.
TEST(Generation, PausesWhileMuchWaitsForTheReader) {
  Rig rig(R"({"prompt": [1], "n": 2, "max_tokens": 60, "stream": true})");
  rig.accept(5);
  rig.accept(6);
  rig.give(5, std::vector<int32_t>(10, 3));
  EXPECT_TRUE(rig.paused.empty());
  rig.give(6, std::vector<int32_t>(6, 3));
  EXPECT_EQ(rig.paused, (std::set<Handle>{5, 6}));
  // Tokens in progress still arrive.
  rig.give(5, {3, 3});
  EXPECT_FALSE(rig.generation->takeEvents().empty());
  EXPECT_TRUE(rig.paused.empty());
  EXPECT_TRUE(rig.cancelled.empty());
  rig.give(5, std::vector<int32_t>(20, 3), FinishReason::Length);
  EXPECT_EQ(rig.paused, (std::set<Handle>{6}));
  rig.generation->takeEvents();
  EXPECT_TRUE(rig.paused.empty());
}

TEST(Generation, DoesNotPauseWhatIsNoStream) {
  Rig rig(R"({"prompt": [1], "max_tokens": 60})");
  rig.accept(5);
  rig.give(5, std::vector<int32_t>(50, 3));
  EXPECT_TRUE(rig.paused.empty());
}

TEST(Generation, EndsWithAnErrorWhenItIsToldTo) {
  Rig rig(R"({"prompt": [1], "max_tokens": 60, "stream": true})");
  rig.accept(5);
  rig.give(5, {1, 2});
  rig.generation->takeEvents();
  ApiError error;
  error.status = 504;
  error.message = "too late";
  rig.generation->fail(error);
  EXPECT_EQ(rig.cancelled, (std::vector<Handle>{5}));
  std::vector<std::string> events = dataOf(rig.generation->takeEvents());
  ASSERT_EQ(events.size(), 1u);
  simdjson::dom::parser parser;
  EXPECT_EQ(at(parser, events[0], "/error/message"), "\"too late\"");
  EXPECT_TRUE(rig.generation->isFinished());
}
