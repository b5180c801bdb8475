//===- scores_test.cpp - Log-probabilities in answers ---------------------===//

#include "runtime/core/StrCat.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/mtp-serve/engine/Generation.h"

#include <gtest/gtest.h>
#include <limits>
#include <simdjson.h>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

using Parser = MaybeError (*)(std::string_view, const ModelFacts &,
                              GenerationRequest &);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Returns the numbers of a token that is the second likeliest, after 'z'.
TokenLogprobs numbersOf(int32_t token, float logprob) {
  return {{token, logprob}, 2, {{'z', logprob / 2}, {token, logprob}}};
}

/// A generation of a model whose tokens are bytes.
struct Rig {
  explicit Rig(std::string_view body, Parser parse = parseCompletion)
      : tables(byteTokenizer()), tokenizer(*Tokenizer::load(tables)) {
    facts.names = {"tiny"};
    facts.tokenizer = tokenizer.get();
    facts.vocab = 300;
    facts.maxContext = 96;
    facts.scoresPrompts = true;
    error = parse(body, facts, request);
    if (error)
      return;
    std::vector<PreparedPrompt> prompts;
    EXPECT_FALSE(preparePrompts(request, facts, prompts));
    auto ignore = [](Handle) {};
    generation =
        std::make_unique<Generation>(request, facts, "id", 1000, 1,
                                     SequenceControls{ignore, ignore, ignore});
    generation->begin(prompts);
    asked = generation->sequences(0).front().logprobs;
    EngineEvent event;
    event.handle = 1;
    event.accepted = true;
    generation->take(event);
  }

  void givePrompt(std::vector<TokenLogprobs> scores) {
    EngineEvent event;
    event.handle = 1;
    event.promptLogprobs = std::move(scores);
    generation->take(event);
  }
  /// Gives bytes whose logarithms are -1, -2, .. in the order of calls.
  void give(std::string_view bytes, FinishReason finish = FinishReason::None) {
    EngineEvent event;
    event.handle = 1;
    for (char byte : bytes) {
      event.tokens.push_back(uint8_t(byte));
      event.logprobs.push_back(numbersOf(uint8_t(byte), float(--last)));
    }
    event.finish = finish;
    generation->take(event);
  }

  /// Returns a value of the whole answer.
  std::string at(const char *pointer) {
    if (whole.empty())
      whole = generation->answer();
    return find(whole, pointer);
  }
  static std::string find(const std::string &json, const char *pointer) {
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    if (parser.parse(json).at_pointer(pointer).get(element))
      return "nothing";
    return simdjson::minify(element);
  }

  std::vector<uint8_t> tables;
  std::unique_ptr<Tokenizer> tokenizer;
  ModelFacts facts;
  GenerationRequest request;
  MaybeError error;
  std::unique_ptr<Generation> generation;
  LogprobsRequest asked;
  std::string whole;
  int last = 0;
};

std::string completion(std::string_view more) {
  return strCat(R"({"prompt": [65, 66], )", more, "}");
}

/// Returns the tokens of a completion with stop strings, after each grouping of
/// its bytes. They must not depend on it.
std::string cutTokens(std::string_view fields, std::string_view bytes) {
  std::string first;
  for (size_t group = 1; group <= bytes.size(); ++group) {
    Rig rig(completion(strCat(R"("logprobs": 0, )", fields)));
    for (size_t at = 0; at < bytes.size(); at += group)
      rig.give(bytes.substr(at, group), at + group < bytes.size()
                                            ? FinishReason::None
                                            : FinishReason::Length);
    std::string tokens = rig.at("/choices/0/logprobs/tokens");
    if (group == 1)
      first = tokens;
    EXPECT_EQ(tokens, first) << "groups of " << group;
  }
  return first;
}

} // namespace

TEST(Scores, OfACompletion) {
  Rig rig(completion(R"("logprobs": 2)"));
  EXPECT_EQ(rig.asked.output, 2u);
  EXPECT_FALSE(rig.asked.prompt);
  // The second and third byte are one character.
  rig.give("a\xc3");
  rig.give("\xa9z", FinishReason::Length);
  EXPECT_EQ(rig.at("/choices/0/text"), "\"a\u00e9z\"");
  EXPECT_EQ(rig.at("/choices/0/logprobs/tokens"),
            R"(["a","bytes:\\xc3","bytes:\\xa9","z"])");
  EXPECT_EQ(rig.at("/choices/0/logprobs/token_logprobs"), "[-1,-2,-3,-4]");
  EXPECT_EQ(rig.at("/choices/0/logprobs/text_offset"), "[0,1,1,2]");
  EXPECT_EQ(rig.at("/choices/0/logprobs/top_logprobs/0"),
            R"({"z":-0.5,"a":-1})");
  // The likelier of two tokens with one name counts.
  EXPECT_EQ(rig.at("/choices/0/logprobs/top_logprobs/3"), R"({"z":-2})");
}

TEST(Scores, HaveNoInfinity) {
  Rig rig(completion(R"("logprobs": 0)"));
  EngineEvent event;
  event.handle = 1;
  event.tokens = {'a'};
  event.logprobs = {{{'a', -kInfinity}, 9, {}}};
  event.finish = FinishReason::Length;
  rig.generation->take(event);
  EXPECT_EQ(rig.at("/choices/0/logprobs/token_logprobs"), "[-9999]");
  EXPECT_EQ(rig.at("/choices/0/logprobs/top_logprobs"), R"([{"a":-9999}])");
}

TEST(Scores, EndWithTheText) {
  EXPECT_EQ(cutTokens(R"("stop": "bc")", "abcd"), R"(["a"])");
  EXPECT_EQ(cutTokens(R"("stop": "bx")", "abcd"), R"(["a","b","c","d"])");
  EXPECT_EQ(
      cutTokens(R"("stop": "bc", "include_stop_str_in_output": true)", "abcd"),
      R"(["a","b","c"])");
  EXPECT_EQ(cutTokens(R"("stop": ["aa"], "min_tokens": 2)", "aabaa"),
            R"(["a","a","b"])");
  EXPECT_EQ(cutTokens(R"("stop": "q")", "abq"), R"(["a","b"])");
}

TEST(Scores, OfAStreamWaitForTheirText) {
  Rig rig(completion(R"("logprobs": 1, "stop": "bc", "stream": true)"));
  auto tokens = [&] {
    std::string events = rig.generation->takeEvents();
    size_t end = events.find("\n\n");
    if (events.empty())
      return events;
    return Rig::find(events.substr(6, end - 6), "/choices/0/logprobs/tokens");
  };
  rig.give("ab");
  EXPECT_EQ(tokens(), R"(["a"])");
  rig.give("x");
  EXPECT_EQ(tokens(), R"(["b","x"])");
  rig.give("b");
  EXPECT_EQ(tokens(), "");
  rig.give("c");
  // The last event has no tokens.
  EXPECT_EQ(tokens(), "nothing");
}

TEST(Scores, OfAnEchoBeginWithThePrompt) {
  Rig rig(completion(R"("logprobs": 1, "echo": true, "max_tokens": 0)"));
  EXPECT_EQ(rig.asked.output, 1u);
  EXPECT_EQ(rig.asked.prompt, 1u);
  EXPECT_FALSE(rig.generation->hasNews());
  rig.givePrompt({numbersOf('B', -5)});
  rig.give("x", FinishReason::Length);
  EXPECT_EQ(rig.at("/choices/0/text"), "\"AB\"");
  EXPECT_EQ(rig.at("/choices/0/logprobs/tokens"), R"(["A","B"])");
  EXPECT_EQ(rig.at("/choices/0/logprobs/token_logprobs"), "[null,-5]");
  EXPECT_EQ(rig.at("/choices/0/logprobs/top_logprobs"),
            R"([null,{"z":-2.5,"B":-5}])");
  EXPECT_EQ(rig.at("/choices/0/logprobs/text_offset"), "[0,1]");

  Rig longer(completion(R"("logprobs": 0, "echo": true)"));
  longer.givePrompt({numbersOf('B', -5)});
  longer.give("xy", FinishReason::Length);
  EXPECT_EQ(longer.at("/choices/0/text"), "\"ABxy\"");
  EXPECT_EQ(longer.at("/choices/0/logprobs/text_offset"), "[0,1,2,3]");
}

TEST(Scores, OfAPromptOfOneToken) {
  Rig rig(R"({"prompt": [65], "logprobs": 0, "echo": true})");
  rig.give("x", FinishReason::Length);
  EXPECT_EQ(rig.at("/choices/0/text"), "\"Ax\"");
  EXPECT_EQ(rig.at("/choices/0/logprobs/token_logprobs"), "[null,-1]");
}

TEST(Scores, OfAPromptByItsIds) {
  Rig rig(completion(R"("prompt_logprobs": 1)"));
  EXPECT_EQ(rig.asked.prompt, 1u);
  EXPECT_FALSE(rig.asked.output);
  rig.givePrompt({{{'B', -5}, 7, {{'z', -2.5f}}}});
  rig.give("x", FinishReason::Length);
  EXPECT_EQ(rig.at("/choices/0/prompt_logprobs"),
            R"([null,{"122":{"logprob":-2.5,"rank":1,"decoded_token":"z"},)"
            R"("66":{"logprob":-5,"rank":7,"decoded_token":"B"}}])");
  EXPECT_EQ(rig.at("/choices/0/logprobs"), "null");
}

TEST(Scores, OfTokensByTheirIds) {
  Rig rig(completion(R"("logprobs": 0, "return_tokens_as_token_ids": true)"));
  rig.give("x", FinishReason::Length);
  EXPECT_EQ(rig.at("/choices/0/logprobs/tokens"), R"(["token_id:120"])");
}

TEST(Scores, OfALlamaServer) {
  Rig rig(completion(R"("n_probs": 2, "temperature": 0.5)"), parseNative);
  EXPECT_EQ(rig.asked.output, 2u);
  rig.give("\xc3", FinishReason::Length);
  EXPECT_EQ(rig.at("/completion_probabilities"),
            "[{\"id\":195,\"token\":\"\ufffd\",\"bytes\":[195],"
            "\"logprob\":-1,\"top_logprobs\":[{\"id\":122,\"token\":\"z\","
            "\"bytes\":[122],\"logprob\":-0.5},{\"id\":195,\"token\":"
            "\"\ufffd\",\"bytes\":[195],\"logprob\":-1}]}]");
  EXPECT_EQ(rig.at("/generation_settings/n_probs"), "2");

  Rig shares(completion(R"("n_probs": 2, "post_sampling_probs": true,
                           "temperature": 0.5)"),
             parseNative);
  EXPECT_EQ(shares.asked.mode, LogprobsMode::Processed);
  shares.give("a", FinishReason::Length);
  EXPECT_EQ(shares.at("/completion_probabilities/0/prob").substr(0, 6),
            "0.3678");
  EXPECT_EQ(shares.at("/completion_probabilities/0/top_probs/1/id"), "97");

  // A greedy request draws the likeliest token in any case.
  Rig greedy(completion(R"("n_probs": 2, "post_sampling_probs": true,
                           "temperature": 0)"),
             parseNative);
  greedy.give("z", FinishReason::Length);
  EXPECT_EQ(greedy.at("/completion_probabilities/0/top_probs"),
            R"([{"id":122,"token":"z","bytes":[122],"prob":1.0}])");
  EXPECT_EQ(Rig(completion(R"("n_probs": 0)"), parseNative).asked.output,
            std::nullopt);
}

TEST(Scores, OfAChat) {
  Rig rig(completion(R"("logprobs": 2)"));
  rig.request.isChat = true;
  auto ignore = [](Handle) {};
  Generation chat(rig.request, rig.facts, "id", 1000, 1,
                  {ignore, ignore, ignore});
  std::vector<PreparedPrompt> prompts = {{{65}, "A"}};
  chat.begin(prompts);
  EngineEvent event;
  event.handle = 1;
  event.accepted = true;
  event.tokens = {0xc3};
  event.logprobs = {numbersOf(0xc3, -1.1f)};
  event.finish = FinishReason::Length;
  chat.take(event);
  EXPECT_EQ(
      Rig::find(chat.answer(), "/choices/0/logprobs/content"),
      "[{\"token\":\"\ufffd\",\"logprob\":-1.1,\"bytes\":[195],"
      "\"top_logprobs\":[{\"token\":\"z\",\"logprob\":-0.55,\"bytes\":"
      "[122]},{\"token\":\"\ufffd\",\"logprob\":-1.1,\"bytes\":[195]}]}]");
}

TEST(Scores, NameWrongFields) {
  for (const char *field :
       {R"("logprobs": 21)", R"("logprobs": -1)", R"("logprobs": true)",
        R"("logprobs": 1.5)", R"("prompt_logprobs": 21)",
        R"("prompt_logprobs": -1)", R"("prompt_logprobs": 1, "stream": true)",
        R"("n_probs": 21)", R"("n_probs": "3")",
        R"("logprobs_mode": "raw_logits")", R"("post_sampling_probs": 1)",
        R"("return_tokens_as_token_ids": 1)", R"("top_logprobs": 2)"}) {
    Rig rig(completion(field));
    ASSERT_TRUE(rig.error) << field;
    EXPECT_EQ(rig.error->status, 400u);
    EXPECT_EQ(rig.error->param,
              std::string(field + 1, std::strchr(field + 1, '"')));
  }
  for (const char *field :
       {R"("logprobs": null)", R"("logprobs": false)", R"("n_probs": 0)",
        R"("prompt_logprobs": false)", R"("post_sampling_probs": true)"}) {
    Rig rig(completion(field));
    ASSERT_FALSE(rig.error) << field;
    EXPECT_FALSE(rig.asked.output || rig.asked.prompt) << field;
  }
  EXPECT_EQ(Rig(completion(R"("logprobs": 1, "logprobs_mode":
                              "processed_logprobs")"))
                .asked.mode,
            LogprobsMode::Processed);
}

// An artifact of an earlier compiler cannot score prompts.
TEST(Scores, OfPromptsNeedAFunction) {
  ModelFacts facts;
  facts.names = {"tiny"};
  facts.vocab = 300;
  facts.maxContext = 96;
  for (auto [more, field] :
       {std::pair(R"("prompt_logprobs": 0)", "prompt_logprobs"),
        std::pair(R"("echo": true, "logprobs": 0)", "echo")}) {
    GenerationRequest request;
    MaybeError error = parseCompletion(completion(more), facts, request);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->param, field);
  }
  GenerationRequest request;
  EXPECT_FALSE(parseCompletion(completion(R"("logprobs": 3)"), facts, request));
}
