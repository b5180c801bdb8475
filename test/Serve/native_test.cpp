//===- native_test.cpp - Fields and paths of llama-server and vLLM --------===//

#include "test/Serve/TextRig.h"
#include "tools/mtp-serve/api/RequestParser.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

TEST(Fields, ShowsTheSequencesInSlots) {
  TextRig rig;
  RouteAnswer answer = rig.ask("POST", "/completion",
                               R"({"prompt": [1, 2, 3], "n_predict": 60,
                                   "stop": ["zz"], "temperature": 0.5})");
  ASSERT_TRUE(answer.generation);
  std::string slots;
  auto isShown = [&] {
    return TextRig::at(slots, "/0/next_token/n_decoded") != "nothing";
  };
  // The engine may be far ahead of the reports that this thread takes.
  while (!isShown() && !answer.generation->hasEnded())
    for (auto &call : rig.calls.take(/*mayWait=*/true)) {
      call();
      if (!isShown())
        slots = rig.ask("GET", "/slots").reply.body;
    }
  EXPECT_EQ(TextRig::at(slots, "/0/is_processing"), "true") << slots;
  EXPECT_EQ(TextRig::at(slots, "/0/id_task"), "1");
  EXPECT_EQ(TextRig::at(slots, "/0/params/n_predict"), "60");
  EXPECT_EQ(TextRig::at(slots, "/0/params/temperature"), "0.5");
  EXPECT_EQ(TextRig::at(slots, "/0/params/stop/0"), "zz");
  EXPECT_EQ(TextRig::at(slots, "/0/next_token/has_next_token"), "true");
  EXPECT_EQ(std::stoi(TextRig::at(slots, "/0/next_token/n_decoded")) +
                std::stoi(TextRig::at(slots, "/0/next_token/n_remain")),
            60);
  EXPECT_EQ(TextRig::at(slots, "/1/id_task"), "-1");
  while (!answer.generation->hasEnded())
    rig.pump();
  slots = rig.ask("GET", "/slots").reply.body;
  EXPECT_EQ(TextRig::at(slots, "/0/next_token"), "nothing") << slots;
}

TEST(Fields, SelectsMembersOfTheLastObject) {
  TextRig rig;
  std::string json = rig.post("/completion", R"({"prompt": "12", "n_predict": 5,
      "response_fields": ["content", "generation_settings/n_predict", "none",
                          "content/x", "prompt", "content"]})");
  EXPECT_EQ(TextRig::at(json, "/generation_settings~1n_predict"), "5") << json;
  EXPECT_EQ(TextRig::at(json, "/prompt"), "12");
  EXPECT_EQ(json.find("\"stop\""), json.npos);
  EXPECT_EQ(json.find("none"), json.npos);
  std::string all = rig.post("/completion", R"({"prompt": "12", "n_predict": 5,
      "response_fields": []})");
  EXPECT_EQ(TextRig::at(all, "/content"), TextRig::at(json, "/content"));
  std::vector<std::string> events =
      dataOf(rig.post("/completion", R"({"prompt": "12", "n_predict": 5,
          "stream": true, "response_fields": ["stop_type"]})"));
  ASSERT_GT(events.size(), 1u);
  EXPECT_NE(TextRig::at(events[0], "/content"), "nothing");
  EXPECT_EQ(events.back(), R"({"stop_type": "limit"})");
  EXPECT_EQ(TextRig::at(rig.complete(R"({"prompt": "12",
                                       "response_fields": ["content"]})"),
                        "/error/param"),
            "response_fields");
  EXPECT_EQ(TextRig::at(rig.post("/completion", R"({"prompt": "12",
                                                  "response_fields": [1]})"),
                        "/error/param"),
            "response_fields");
}

TEST(Fields, AppliesTheSamplersThatAreNamed) {
  ModelFacts facts;
  RoutesRig::makeFacts(facts);
  auto parse = [&](const std::string &samplers, GenerationRequest &request) {
    return parseNative(strCat(R"({"samplers": )", samplers,
                              R"(, "prompt": [1], "temperature": 0.5,
                                 "top_k": 7, "top_p": 0.5, "min_p": 0.1})"),
                       facts, request);
  };
  for (const char *all : {"null", R"("edskypmxt")",
                          R"(["penalties", "dry", "top_n_sigma", "top_k",
                              "typ_p", "top_p", "min_p", "xtc",
                              "temperature"])"}) {
    GenerationRequest request;
    EXPECT_FALSE(parse(all, request)) << all;
    EXPECT_EQ(request.sampling.temperature, 0.5f);
    EXPECT_EQ(request.sampling.topK, 7u);
    EXPECT_EQ(request.sampling.topP, 0.5f);
    EXPECT_EQ(request.sampling.minP, 0.1f);
  }
  GenerationRequest some;
  EXPECT_FALSE(parse(R"(["top_k", "min_p"])", some));
  EXPECT_EQ(some.sampling.temperature, 1);
  EXPECT_EQ(some.sampling.topK, 7u);
  EXPECT_EQ(some.sampling.topP, 1);
  EXPECT_EQ(some.sampling.minP, 0.1f);
  for (const char *wrong : {"1", R"(["temperature", "top_k"])", R"(["none"])",
                            R"([1])", R"("kq")"}) {
    GenerationRequest request;
    MaybeError error = parse(wrong, request);
    ASSERT_TRUE(error) << wrong;
    EXPECT_EQ(error->param, "samplers") << wrong;
  }
}

TEST(Fields, BlamesTheElementThatIsNoPrompt) {
  TextRig rig;
  for (const char *prompt : {R"([1, "a", {}])", R"([{}, "a", 1])"}) {
    std::string json = rig.complete(strCat(R"({"prompt": )", prompt, "}"));
    EXPECT_EQ(TextRig::at(json, "/error/param"), "prompt");
    EXPECT_NE(json.find("an object"), json.npos) << json;
  }
}

TEST(Fields, TellsAboutTheTokenizer) {
  TextRig rig;
  std::string json = rig.ask("GET", "/tokenizer_info").reply.body;
  EXPECT_EQ(TextRig::at(json, "/tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(TextRig::at(json, "/vocab_size"), "257");
  EXPECT_EQ(TextRig::at(json, "/additional_special_tokens"), "[\"<end>\"]");
  EXPECT_EQ(TextRig::at(json, "/chat_template"), kChatTemplate);
  rig.facts.tokenizer = nullptr;
  EXPECT_EQ(rig.ask("GET", "/tokenizer_info").reply.status, 404u);
}
