//===- routes_test.cpp - Paths, keys and queues without sockets -----------===//

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "test/Serve/RoutesRig.h"
#include "tools/mtp-serve/http/ReplyHeader.h"
#include "tools/mtp-serve/http/Target.h"

#include <future>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

using Rig = RoutesRig;

/// Returns a job that keeps the worker busy until `go`.
std::shared_ptr<TextJob> jobUntil(std::promise<void> &go) {
  auto job = std::make_shared<TextJob>();
  job->work = [&] {
    go.get_future().wait();
    return HttpReply();
  };
  return job;
}

} // namespace

TEST(Routes, CompletesAsTheModelDoes) {
  Rig rig;
  Request request;
  request.prompt = {3, 1, 4};
  request.maxTokens = 5;
  std::string ids;
  for (int32_t token : expectedOutput(request).tokens)
    ids += (ids.empty() ? "[" : ", ") + std::to_string(token);
  std::string json =
      rig.complete(R"({"prompt": [3, 1, 4], "max_tokens": 5, "k": 2})");
  EXPECT_NE(json.find("\"token_ids\": " + ids + "]"), json.npos) << json;
  EXPECT_NE(json.find("\"id\": \"cmpl-id\""), json.npos) << json;
}

TEST(Routes, KnowsPathsAndMethods) {
  Rig rig;
  EXPECT_EQ(rig.ask("GET", "/health").reply.status, 200u);
  EXPECT_EQ(rig.ask("HEAD", "/health").reply.status, 200u);
  EXPECT_EQ(rig.ask("GET", "/nothing").reply.status, 404u);
  RouteAnswer wrong = rig.ask("GET", "/v1/completions");
  EXPECT_EQ(wrong.reply.status, 405u);
  ASSERT_EQ(wrong.reply.headers.size(), 1u);
  EXPECT_EQ(wrong.reply.headers[0].second, "POST");
  EXPECT_EQ(rig.ask("OPTIONS", "/v1/completions").reply.status, 204u);
  for (const char *path : {"/health/", "/v1/models/", "/v1/models/alias/"})
    EXPECT_EQ(rig.ask("GET", path).reply.status, 200u) << path;
  EXPECT_EQ(rig.ask("POST", "/v1/completions", "{}",
                    "Application/JSON; charset=utf-8")
                .reply.status,
            400u);
  EXPECT_EQ(rig.ask("GET", "/v1/models/alias").reply.status, 200u);
  EXPECT_EQ(rig.ask("GET", "/v1/models/none").reply.status, 404u);
  for (const char *path : {"/v1/models", "/version", "/props", "/metrics"})
    EXPECT_EQ(rig.ask("GET", path).reply.status, 200u) << path;
  // The fake model has no tokenizer.
  EXPECT_EQ(rig.ask("POST", "/tokenize", R"({"prompt": "a"})").reply.status,
            400u);
}

// curl sends a form's type, other clients none. Of a page only JSON is taken,
// since a page needs a preflight request for it.
TEST(Routes, TakesOtherContentTypesUnlessAPageSendsThem) {
  Rig rig;
  for (bool isFromPage : {false, true})
    for (const char *type :
         {"", "text/plain", "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x", "application/jsonx"}) {
      HttpRequest request;
      request.method = "POST";
      request.path = "/v1/completions";
      request.body = "{}";
      request.contentType = type;
      request.isFromPage = isFromPage;
      EXPECT_EQ(rig.send(std::move(request)).reply.status,
                isFromPage ? 415u : 400u);
    }
}

TEST(Routes, NamesIgnoredFields) {
  Rig rig;
  RouteAnswer answer = rig.ask("POST", "/v1/completions",
                               R"({"prompt": [1], "a": 1, "b\r\nc": 2})");
  ASSERT_TRUE(answer.generation) << answer.reply.body;
  EXPECT_EQ(listOf(answer.reply.ignored), "a, b??c");
  while (!answer.generation->hasEnded())
    rig.pump();
  answer = rig.ask("POST", "/v1/completions", R"({"prompt": [1], "logprobs": -1,
                                                  "a": 1})");
  EXPECT_EQ(answer.reply.status, 400u);
  rig.facts.isStrict = true;
  answer = rig.ask("POST", "/v1/completions", R"({"prompt": [1], "a": 1})");
  EXPECT_EQ(answer.reply.status, 400u);
}

TEST(Routes, AnswersNoTokensIfNoneAreAskedFor) {
  Rig rig;
  std::string json = rig.complete(R"({"prompt": [1, 2], "max_tokens": 0})");
  EXPECT_NE(json.find("\"token_ids\": []"), json.npos) << json;
  EXPECT_NE(json.find("\"finish_reason\": \"length\""), json.npos) << json;
  EXPECT_NE(json.find("\"completion_tokens\": 0"), json.npos) << json;
}

TEST(Routes, AsksForAKey) {
  ServerOptions options;
  options.keys = {"first", "second"};
  Rig rig(64, options);
  auto status = [&](const char *path, const char *authorization) {
    return rig.ask("GET", path, "", "", authorization).reply.status;
  };
  EXPECT_EQ(status("/v1/models", ""), 401u);
  EXPECT_EQ(status("/v1/models", "Bearer firs"), 401u);
  EXPECT_EQ(status("/v1/models", "Bearer first1"), 401u);
  EXPECT_EQ(status("/v1/models", "Bearer "), 401u);
  EXPECT_EQ(status("/v1/models", "Basic first"), 401u);
  EXPECT_EQ(status("/nothing", ""), 401u);
  EXPECT_EQ(status("/v1/models", "Bearer first"), 200u);
  EXPECT_EQ(status("/v1/models", "bearer  first"), 200u);
  EXPECT_EQ(status("/v1/models", "Bearer second"), 200u);
  EXPECT_EQ(status("/health", ""), 200u);
  EXPECT_EQ(rig.ask("OPTIONS", "/v1/completions").reply.status, 204u);
  EXPECT_NE(rig.ask("GET", "/v1/models").reply.body.find("invalid_api_key"),
            std::string::npos);
  // Anthropic's field.
  auto statusOfKey = [&](const char *key, const char *authorization) {
    HttpRequest request;
    request.method = "GET";
    request.path = "/v1/models";
    request.apiKey = key;
    request.authorization = authorization;
    return rig.send(std::move(request)).reply.status;
  };
  EXPECT_EQ(statusOfKey("second", ""), 200u);
  EXPECT_EQ(statusOfKey("second", "Bearer other"), 200u);
  EXPECT_EQ(statusOfKey("secon", ""), 401u);
  EXPECT_EQ(statusOfKey("", ""), 401u);
  EXPECT_EQ(statusOfKey("Bearer first", ""), 401u);
}

TEST(Routes, HaveAPageThatNeedsNoKey) {
  ServerOptions options;
  options.keys = {"key"};
  HttpReply reply = Rig(64, options).ask("GET", "/").reply;
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.type, "text/html; charset=utf-8");
  EXPECT_TRUE(reply.body.starts_with("<!doctype html>"));
  EXPECT_TRUE(reply.body.ends_with("</html>\n"));
  // All parts are in it, and it loads nothing.
  EXPECT_EQ(reply.body.find("@PART"), std::string::npos);
  for (const char *load : {"src=", "@import", "url(", "http:", "https:"})
    EXPECT_EQ(reply.body.find(load), std::string::npos) << load;
  EXPECT_EQ(reply.body.find("innerHTML"), std::string::npos);
}

TEST(Routes, RefusesWhenTooManyWait) {
  Rig rig(/*waiting=*/2);
  // Four slots, and two sequences that wait.
  std::string body = R"({"prompt": [1], "n": 6, "max_tokens": 20})";
  RouteAnswer first = rig.ask("POST", "/v1/completions", body);
  ASSERT_TRUE(first.generation);
  RouteAnswer second = rig.ask("POST", "/v1/completions", R"({"prompt": [1]})");
  EXPECT_FALSE(second.generation);
  EXPECT_EQ(second.reply.status, 429u);
  ASSERT_EQ(second.reply.headers.size(), 1u);
  EXPECT_EQ(second.reply.headers[0].first, "Retry-After");
  EXPECT_GE(std::stoi(second.reply.headers[0].second), 1);
  while (!first.generation->hasEnded())
    rig.pump();
  EXPECT_NE(rig.complete(R"({"prompt": [1]})").find("token_ids"),
            std::string::npos);
  EXPECT_NE(rig.ask("GET", "/metrics")
                .reply.body.find("mtp:requests_refused_total{model_name="
                                 "\"fake\"} 1"),
            std::string::npos);
}

TEST(Routes, RefusesWhenAKeyHasTooMany) {
  ServerOptions options;
  options.keys = {"first", "second"};
  options.limits.perKey = 3;
  Rig rig(64, options);
  auto ask = [&](const char *key, const char *body) {
    return rig.ask("POST", "/v1/completions", body, "application/json", key);
  };
  const char *two = R"({"prompt": [1], "n": 2, "max_tokens": 60})";
  RouteAnswer first = ask("Bearer first", two);
  ASSERT_TRUE(first.generation);
  EXPECT_EQ(first.generation->asked().client, 1u);
  RouteAnswer second = ask("Bearer first", two);
  EXPECT_EQ(second.reply.status, 429u);
  EXPECT_NE(second.reply.body.find("3 sequences and texts of one key"),
            std::string::npos);
  RouteAnswer other = ask("Bearer second", two);
  ASSERT_TRUE(other.generation);
  EXPECT_EQ(other.generation->asked().client, 2u);
  while (!first.generation->hasEnded() || !other.generation->hasEnded())
    rig.pump();
  EXPECT_TRUE(ask("Bearer first", two).generation);
}

TEST(Routes, WhatCanNeverRunIsNotToTryLater) {
  Rig rig(/*waiting=*/2);
  RouteAnswer answer =
      rig.ask("POST", "/v1/completions", R"({"prompt": [1], "n": 7})");
  EXPECT_EQ(answer.reply.status, 400u);
  EXPECT_NE(answer.reply.body.find("\"param\": \"n\""), std::string::npos);
  ServerOptions options;
  options.limits.perKey = 3;
  EXPECT_EQ(Rig(64, options)
                .ask("POST", "/v1/completions", R"({"prompt": [1], "n": 4})")
                .reply.status,
            400u);
}

TEST(Routes, MinTokensOfMoreThanThereAreIsRefused) {
  Rig rig;
  RouteAnswer answer = rig.ask("POST", "/v1/completions",
                               R"({"prompt": [1], "min_tokens": 17})");
  EXPECT_EQ(answer.reply.status, 400u);
  EXPECT_NE(answer.reply.body.find("\"param\": \"min_tokens\""),
            std::string::npos);
}

TEST(Routes, EndsGently) {
  Rig rig;
  RouteAnswer first = rig.ask("POST", "/v1/completions",
                              R"({"prompt": [1], "max_tokens": 60})");
  rig.dispatcher.refuse();
  EXPECT_EQ(
      rig.ask("POST", "/v1/completions", R"({"prompt": [1]})").reply.status,
      503u);
  EXPECT_EQ(rig.ask("GET", "/health").reply.status, 503u);
  while (!first.generation->hasEnded())
    rig.pump();
  EXPECT_EQ(first.generation->outputTokens(), 60u);
}

TEST(Routes, EndsWhatIsBeingEncoded) {
  Rig rig(/*waiting=*/4);
  // The worker is busy with another client's text.
  std::promise<void> go;
  std::shared_ptr<TextJob> busy = jobUntil(go);
  EXPECT_FALSE(rig.dispatcher.runLater(busy));
  auto text = std::make_shared<TextJob>();
  text->work = [] {
    ADD_FAILURE() << "a text without a reader";
    return HttpReply();
  };
  EXPECT_FALSE(rig.dispatcher.runLater(text));
  // The worker encodes a text, but checks earlier fields first.
  GenerationRequest request;
  request.prompts = {{.text = "", .ids = {1}},
                     {.text = "a text", .isText = true}};
  request.minTokens = 17;
  auto ask = [&] {
    std::shared_ptr<Generation> generation;
    EXPECT_FALSE(rig.dispatcher.start(request, "id", generation));
    return generation;
  };
  std::shared_ptr<Generation> first = ask();
  EXPECT_FALSE(first->hasEnded());
  // Meanwhile all other requests are answered.
  rig.complete(R"({"prompt": [1, 2], "max_tokens": 4})");
  rig.dispatcher.abortAll();
  ASSERT_TRUE(first->error());
  EXPECT_EQ(first->error()->status, 503u);
  ASSERT_TRUE(text->error);
  EXPECT_EQ(text->error->status, 503u);
  // Texts of aborted requests are dropped and do not stay in the queue.
  go.set_value();
  for (int turn = 0; turn < 5; ++turn) {
    std::shared_ptr<Generation> next = ask();
    while (!next->error())
      rig.pump();
    EXPECT_EQ(next->error()->status, 400u);
  }
  EXPECT_EQ(first->error()->status, 503u);
}

TEST(Routes, TextsCountForTheirKey) {
  ServerOptions options;
  options.keys = {"first", "second"};
  options.limits.perKey = 2;
  Rig rig(64, options);
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  auto refusalOf = [&](uint64_t client) {
    auto job = std::make_shared<TextJob>();
    job->client = client;
    job->work = [gone] {
      gone.wait();
      return HttpReply();
    };
    MaybeError error = rig.dispatcher.runLater(job);
    return error ? error->status : 0;
  };
  EXPECT_EQ(refusalOf(1), 0u);
  EXPECT_EQ(refusalOf(1), 0u);
  EXPECT_EQ(refusalOf(1), 429u);
  RouteAnswer answer = rig.ask("POST", "/v1/completions", R"({"prompt": [1]})",
                               "application/json", "Bearer first");
  EXPECT_EQ(answer.reply.status, 429u);
  EXPECT_EQ(refusalOf(2), 0u);
  go.set_value();
  rig.pump();
}

TEST(Routes, WhatIsEncodedWaits) {
  Rig rig;
  std::promise<void> go;
  std::shared_ptr<TextJob> busy = jobUntil(go);
  EXPECT_FALSE(rig.dispatcher.runLater(busy));
  GenerationRequest request;
  request.prompts = {{.text = "", .ids = {1}},
                     {.text = "a text", .isText = true}};
  request.minTokens = 17;
  std::shared_ptr<Generation> generation;
  EXPECT_FALSE(rig.dispatcher.start(request, "id", generation));
  auto waits = [&](const char *count) {
    std::string line = "vllm:num_requests_waiting{model_name=\"fake\"} ";
    return rig.ask("GET", "/metrics").reply.body.find(line + count + "\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(waits("2"));
  go.set_value();
  while (!generation->error())
    rig.pump();
  EXPECT_TRUE(waits("0"));
}

TEST(Routes, CountsForPrometheus) {
  Rig rig;
  rig.complete(R"({"prompt": [1, 2, 3], "max_tokens": 9, "k": 2})");
  rig.complete(R"({"prompt": [1, 2], "max_tokens": 4})");
  std::string text = rig.ask("GET", "/metrics").reply.body;
  for (const char *line :
       {"vllm:prompt_tokens_total{model_name=\"fake\"} 5\n",
        "vllm:generation_tokens_total{model_name=\"fake\"} 13\n",
        "finished_reason=\"length\",model_name=\"fake\"} 2\n",
        "vllm:num_requests_running{model_name=\"fake\"} 0\n",
        "vllm:time_to_first_token_seconds_count{model_name=\"fake\"} 2\n",
        "vllm:request_queue_time_seconds_count{model_name=\"fake\"} 2\n",
        "vllm:request_prefill_time_seconds_count{model_name=\"fake\"} 2\n",
        "vllm:request_params_max_tokens_sum{model_name=\"fake\"} 13\n",
        "llamacpp:tokens_predicted_total{model_name=\"fake\"} 13\n",
        "vllm:cache_config_info{block_size=\"4\",",
        "vllm:inter_token_latency_seconds_count{model_name=\"fake\"} 11\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
}

// An answer that a stop string ends is not counted as aborted, although its
// sequence is cancelled.
TEST(Routes, CountsStopStringsAsStops) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig;
  rig.facts.tokenizer = tokenizer.get();
  Request request;
  request.prompt = {3, 1, 4};
  request.maxTokens = 40;
  std::vector<int32_t> tokens = expectedOutput(request).tokens;
  ASSERT_EQ(tokens.size(), 40u);
  // Two bytes that occur early, escaped for JSON if necessary.
  JsonWriter stop(JsonWriter::Layout::OneLine);
  stop.value(std::string{char(tokens[4]), char(tokens[5])});
  std::string json = rig.complete(strCat(
      R"({"prompt": [3, 1, 4], "max_tokens": 40, "stop": )", stop.text(), "}"));
  EXPECT_NE(json.find("\"finish_reason\": \"stop\""), json.npos) << json;
  std::string text = rig.ask("GET", "/metrics").reply.body;
  for (const char *line :
       {"finished_reason=\"stop\",model_name=\"fake\"} 1\n",
        "finished_reason=\"abort\",model_name=\"fake\"} 0\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
}

TEST(Routes, NamesTokensAsLlamaCppAndVllmDo) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig;
  rig.facts.tokenizer = tokenizer.get();
  auto tokenize = [&](const char *flag) {
    return rig
        .ask("POST", "/tokenize",
             strCat("{\"content\": \"a\u00e9\", \"", flag, "\": true}"))
        .reply.body;
  };
  EXPECT_NE(tokenize("add_special").find("\"tokens\": [97, 195, 169]"),
            std::string::npos);
  std::string json = tokenize("with_pieces");
  EXPECT_NE(json.find(R"("tokens": [{"id": 97, "piece": "a"}, )"
                      R"({"id": 195, "piece": [195]}, )"
                      R"({"id": 169, "piece": [169]}])"),
            std::string::npos)
      << json;
  EXPECT_EQ(json.find("token_strs"), std::string::npos);
  json = tokenize("return_token_strs");
  EXPECT_NE(json.find("\"tokens\": [97, 195, 169], \"token_strs\": [\"a\""),
            std::string::npos)
      << json;
}

// One such request crashed the server (bugreports/q).
TEST(Routes, HasNoPieceForAStartTokenWithoutOne) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig;
  rig.facts.tokenizer = tokenizer.get();
  rig.facts.vocab = 300;
  rig.facts.generation.bos = 290;
  rig.facts.generation.addBos = true;
  auto ask = [&](const char *path, const char *body) {
    return rig.ask("POST", path, body).reply.body;
  };
  std::string json =
      ask("/tokenize", R"({"prompt": "a", "return_token_strs": true})");
  EXPECT_NE(json.find(R"("tokens": [290, 97], "token_strs": ["", "a"])"),
            std::string::npos)
      << json;
  json = ask("/tokenize", R"({"prompt": "a", "with_pieces": true})");
  EXPECT_NE(json.find(R"({"id": 290, "piece": ""})"), std::string::npos)
      << json;
  // bugreports/a.
  json = ask("/detokenize", R"({"tokens": [97, 290, 98]})");
  EXPECT_NE(json.find(R"("prompt": "ab")"), std::string::npos) << json;
  EXPECT_EQ(rig.ask("POST", "/detokenize", R"({"tokens": [300]})").reply.status,
            400u);
}

// bugreports/r: ggml-org/llama.cpp#27783, #26965, #21257.
TEST(Routes, StopsEncodingWhatNobodyWants) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig;
  rig.facts.tokenizer = tokenizer.get();
  HttpRequest request;
  request.method = "POST";
  request.path = "/tokenize";
  request.body = R"({"prompt": "text"})";
  RouteAnswer answer = rig.routes.answer(request);
  ASSERT_TRUE(answer.text);
  answer.text->isDropped = true;
  EXPECT_EQ(answer.text->work().status, 503u);
  GenerationRequest asked;
  asked.prompts = {{.text = "text", .isText = true}};
  std::vector<PreparedPrompt> prompts;
  std::atomic<bool> isAborted = true;
  MaybeError error = preparePrompts(asked, rig.facts, prompts, &isAborted);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 503u);
}

// The time of a prompt that waits for its tokens counts.
TEST(Routes, TheFirstTokensTimeBeginsWithTheRequest) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  Rig rig;
  rig.facts.tokenizer = tokenizer.get();
  std::promise<void> go;
  std::shared_ptr<TextJob> busy = jobUntil(go);
  EXPECT_FALSE(rig.dispatcher.runLater(busy));
  RouteAnswer answer =
      rig.ask("POST", "/v1/completions", R"({"prompt": "!", "max_tokens": 3})");
  ASSERT_TRUE(answer.generation) << answer.reply.body;
  // The true time is longer than this.
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  go.set_value();
  while (!answer.generation->hasEnded())
    rig.pump();
  std::string text = rig.ask("GET", "/metrics").reply.body;
  for (const char *line :
       {"vllm:time_to_first_token_seconds_bucket{model_name=\"fake\","
        "le=\"0.1\"} 0\n",
        "vllm:time_to_first_token_seconds_count{model_name=\"fake\"} 1\n",
        "vllm:e2e_request_latency_seconds_bucket{model_name=\"fake\","
        "le=\"0.1\"} 0\n",
        "vllm:e2e_request_latency_seconds_count{model_name=\"fake\"} 1\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
}

TEST(Keys, AreComparedWhole) {
  EXPECT_TRUE(isSameKey("abc", "abc"));
  EXPECT_FALSE(isSameKey("abc", "abcabc"));
  EXPECT_FALSE(isSameKey("abc", "ab"));
  EXPECT_FALSE(isSameKey("abc", ""));
  EXPECT_FALSE(isSameKey("", "a"));
}

TEST(ReplyHeader, NamesOriginsThatMay) {
  EXPECT_TRUE(originHeaders({}, "http://a", "").empty());
  EXPECT_TRUE(originHeaders({"http://a"}, "http://b", "").empty());
  EXPECT_TRUE(originHeaders({"*"}, "", "").empty());
  auto fields = originHeaders({"http://a"}, "http://a", "x-one, x-two");
  EXPECT_EQ(fields.front().second, "http://a");
  EXPECT_EQ(fields.back().second, "x-one, x-two");
  EXPECT_EQ(originHeaders({"*"}, "http://b", "").front().second, "*");
  EXPECT_NE(originHeaders({"*"}, "http://b", "a\r\nb: c").back().first,
            "Access-Control-Allow-Headers");
}

TEST(ReplyHeader, ListsFewShortNames) {
  EXPECT_EQ(listOf({}), "");
  EXPECT_EQ(listOf({"a_b", "c.d-e", std::string(100, 'x')}),
            "a_b, c.d-e, " + std::string(64, 'x'));
  EXPECT_EQ(listOf({"a: b, c\n\xC3"}), "a??b??c??");
  EXPECT_EQ(listOf(std::vector<std::string>(100, "a")).size(), 32u * 3 - 2);
}

TEST(Target, NamesAPath) {
  EXPECT_EQ(pathOf("/v1/models?a=b"), "/v1/models");
  EXPECT_EQ(pathOf("/v1/models/a%20b%2fc?d%20"), "/v1/models/a b/c");
  EXPECT_EQ(pathOf("/a%2"), "/a%2");
  EXPECT_EQ(pathOf("/a%zz%"), "/a%zz%");
  EXPECT_EQ(pathOf("http://host:8080/version?x"), "/version");
  EXPECT_EQ(pathOf("https://host"), "/");
  EXPECT_EQ(pathOf("http://host?/version"), "/");
  EXPECT_EQ(pathOf("*"), "*");
}

TEST(ReplyHeader, TakesIdsThatHarmNothing) {
  EXPECT_TRUE(isRequestId("req-1.A_b:9"));
  EXPECT_FALSE(isRequestId(""));
  EXPECT_FALSE(isRequestId("a b"));
  EXPECT_FALSE(isRequestId("a\"b"));
  EXPECT_FALSE(isRequestId(std::string(129, 'a')));
  EXPECT_EQ(printable("GET /\n\"\xC3"), "GET /???");
}
