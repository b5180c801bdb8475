//===- resume_test.cpp - Continue a stream on another server --------------===//

#include "test/Serve/TextRig.h"
#include "test/Serve/ToolRig.h"
#include "tools/mtp-serve/api/RequestParser.h"

#include <map>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// The text of one answer, by kind; "end" is the reason of its end.
using Texts = std::map<std::string, std::string>;

/// A stream as a gate sees it.
struct Stream {
  /// The events before each comment, and all comments' content.
  std::vector<std::string> events, comments;
  /// Events after the last comment.
  std::string rest;
};

Stream split(const std::string &text) {
  constexpr std::string_view kMark = ": resume ";
  Stream stream;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find("\n\n", begin);
    EXPECT_NE(end, text.npos) << text;
    std::string event = text.substr(begin, end + 2 - begin);
    begin = end + 2;
    if (event.starts_with(kMark)) {
      stream.events.push_back(std::exchange(stream.rest, ""));
      stream.comments.push_back(
          event.substr(kMark.size(), event.size() - kMark.size() - 2));
    } else {
      stream.rest += event;
    }
  }
  return stream;
}

std::string at(const simdjson::dom::element &json, const char *pointer) {
  simdjson::dom::element element;
  std::string_view text;
  if (json.at_pointer(pointer).get(element) || element.is_null())
    return "";
  return element.get(text) ? simdjson::minify(element) : std::string(text);
}

/// Adds the texts of a part of an answer in any of the APIs.
void addTexts(const simdjson::dom::element &json,
              std::map<std::string, Texts> &answers) {
  std::string base = at(json, "/choices/0/index").empty() ? "" : "/choices/0";
  std::string index = at(json, (base + "/index").c_str());
  auto add = [&](const char *kind, const std::string &pointer) {
    answers[index][kind] += at(json, pointer.c_str());
  };
  add("text", base + "/text");
  add("text", base + "/content");
  add("text", base + "/delta/content");
  add("text", base + "/delta/text");
  add("reasoning", base + "/delta/reasoning_content");
  add("reasoning", base + "/delta/thinking");
  add("role", base + "/delta/role");
  add("end", base + "/finish_reason");
  add("end", base + "/stop_type");
  add("end", base + "/delta/stop_reason");
  add("block", base + "/content_block/type");
  add("numbers", base + "/logprobs/token_logprobs");
  add("likeliest", base + "/logprobs/top_logprobs");
  add("places", base + "/logprobs/text_offset");
  add("scored", base + "/logprobs/content");
  add("probabilities", "/completion_probabilities");
  add("call", base + "/delta/tool_calls/0/id");
  add("name", base + "/delta/tool_calls/0/function/name");
  add("arguments", base + "/delta/tool_calls/0/function/arguments");
  if (at(json, "/type").starts_with("response.output_text.delta"))
    add("text", "/delta");
  add("whole", "/response/output/0/content/0/text");
  add("all scores", "/response/output/0/content/0/logprobs");
  add("number", "/sequence_number");
}

/// Returns what a client reads in the events: the texts of all answers.
std::map<std::string, Texts> read(const std::string &events) {
  std::map<std::string, Texts> answers;
  constexpr std::string_view kData = "data: ";
  for (size_t begin = 0; (begin = events.find(kData, begin)) != events.npos;) {
    begin += kData.size();
    std::string data = events.substr(begin, events.find("\n\n", begin) - begin);
    if (data == "[DONE]") {
      answers["done"]["count"] += "x";
      continue;
    }
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    if (parser.parse(data).get(json))
      answers["wrong"]["data"] += data;
    else
      addTexts(json, answers);
  }
  return answers;
}

/// Returns the field "resume" after the first `count` comments of a stream, as
/// a gate makes it.
std::string resumeAfter(const Stream &stream, size_t count, size_t answers) {
  std::vector<std::string> tokens(answers), scores(answers), ends(answers);
  auto append = [](std::string &list, const std::string &more) {
    if (more.size() <= 2)
      return;
    list += (list.empty() ? "" : ",") + more.substr(1, more.size() - 2);
  };
  std::vector<bool> begun(answers);
  std::string events = "0";
  for (size_t i = 0; i < count; ++i) {
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    simdjson::dom::array list;
    EXPECT_FALSE(parser.parse(stream.comments[i]).get(json));
    EXPECT_FALSE(json["answers"].get(list));
    events = at(json, "/events");
    for (simdjson::dom::element answer : list) {
      size_t index = std::stoul(at(answer, "/index"));
      begun[index] = true;
      append(tokens[index], at(answer, "/tokens"));
      append(scores[index], at(answer, "/scores"));
      ends[index] = at(answer, "/finish");
    }
  }
  std::string all;
  for (size_t i = 0; i < answers; ++i) {
    all += i > 0 ? ", " : "";
    all += !begun[i] ? "null"
                     : strCat("{\"tokens\": [", tokens[i], "]",
                              scores[i].empty()
                                  ? ""
                                  : strCat(", \"scores\": [", scores[i], "]"),
                              ends[i].empty()
                                  ? ""
                                  : strCat(", \"finish\": \"", ends[i], "\""),
                              "}");
  }
  return strCat("{\"seed\": 7, \"created\": 5, \"events\": ", events,
                ", \"answers\": [", all, "]}");
}

//===----------------------------------------------------------------------===//
// A model
//===----------------------------------------------------------------------===//

/// Routes of a replica whose tokens are bytes.
struct Replica : TextRig {
  Replica() : TextRig("{% for m in messages %}{{ m.content }}{% endfor %}") {
    facts.isReplica = true;
  }

  /// Returns all events, taken after each step.
  std::string stream(const char *path, const std::string &body) {
    RouteAnswer answer = ask("POST", path, body);
    if (!answer.generation)
      return answer.reply.body;
    std::string events;
    auto take = [&] {
      while (answer.generation->hasNews())
        events += answer.generation->takeEvents();
    };
    take();
    while (!answer.generation->isFinished())
      for (auto &call : calls.take(/*mayWait=*/true)) {
        call();
        take();
      }
    return answer.generation->error() ? errorJson(*answer.generation->error())
                                      : events;
  }
};

struct Case {
  const char *path;
  const char *fields;
  size_t answers = 1;
};

const Case kCases[] = {
    {"/v1/completions", R"("prompt": [1, 2], "max_tokens": 20)"},
    {"/v1/completions",
     R"("prompt": [[1, 2], [3]], "n": 2, "max_tokens": 12, "temperature": 1,
        "stream_options": {"include_usage": true})",
     4},
    {"/v1/completions",
     R"("prompt": "12", "echo": true, "max_tokens": 30, "temperature": 1,
        "stop": ["5", "17", "38"], "min_tokens": 3)"},
    {"/v1/completions",
     R"("prompt": "12", "max_tokens": 30, "temperature": 1, "min_tokens": 20,
        "stop_token_ids": [3, 9, 12, 17, 20, 33, 40, 41, 50])"},
    {"/v1/completions", R"("prompt": [1], "max_tokens": 0)"},
    {"/v1/completions",
     R"("prompt": "12", "max_tokens": 30, "temperature": 1, "logprobs": 2,
        "stop": ["5", "17", "38"], "min_tokens": 3)"},
    {"/v1/chat/completions",
     R"("messages": [{"role": "user", "content": "12"}], "logprobs": true,
        "top_logprobs": 1, "max_tokens": 9)"},
    {"/completion", R"("prompt": [1, 2], "n_predict": 9, "n_probs": 2)"},
    {"/completion",
     R"("prompt": [1, 2], "n_predict": 9, "temperature": 1, "seed": 3)"},
    {"/v1/chat/completions",
     R"("messages": [{"role": "user", "content": "12"}], "n": 2,
        "max_tokens": 9, "temperature": 1)",
     2},
    {"/v1/messages",
     R"("messages": [{"role": "user", "content": "12"}], "max_tokens": 9)"},
    {"/v1/responses", R"("input": "12", "max_output_tokens": 9)"},
    {"/v1/responses",
     R"("input": "12", "max_output_tokens": 9, "top_logprobs": 2,
        "include": ["message.output_text.logprobs"])"},
};

std::string bodyOf(const Case &test, const std::string &resume) {
  return strCat("{\"resume\": ", resume, ", \"stream\": true, ", test.fields,
                "}");
}

/// Returns the texts without what depends on where events are cut: their
/// numbers, and ends of lists.
std::map<std::string, Texts> withoutNumbers(std::map<std::string, Texts> all) {
  for (auto &[index, texts] : all) {
    texts.erase("number");
    for (auto &[kind, text] : texts)
      for (size_t at; (at = text.find("][")) != text.npos;)
        text.replace(at, 2, ",");
  }
  return all;
}

} // namespace

TEST(Resume, AStreamGoesOnAfterAnyComment) {
  for (const Case &test : kCases) {
    Replica rig;
    std::string all =
        rig.stream(test.path, bodyOf(test, R"({"seed": 7, "created": 5})"));
    Stream whole = split(all);
    EXPECT_EQ(whole.rest, "") << "events after the last comment: " << all;
    ASSERT_FALSE(whole.comments.empty()) << all;
    EXPECT_EQ(whole.comments.back(), R"({"end": true})");
    std::string shown;
    for (const std::string &events : whole.events)
      shown += events;
    // A cut before any event is a new stream.
    for (size_t cut = 0; cut < whole.comments.size(); ++cut) {
      std::string before;
      for (size_t i = 0; i < cut; ++i)
        before += whole.events[i];
      std::string resume = resumeAfter(whole, cut, test.answers);
      Replica other;
      std::string text = other.stream(test.path, bodyOf(test, resume));
      Stream rest = split(text);
      EXPECT_EQ(rest.rest, "") << text;
      for (const std::string &events : rest.events)
        before += events;
      EXPECT_EQ(withoutNumbers(read(before)), withoutNumbers(read(shown)))
          << test.path << " " << resume << "\n"
          << text << "\n"
          << all;
    }
  }
}

TEST(Resume, NumbersOfEventsGoOn) {
  Case test = {"/v1/responses",
               R"("input": "12", "max_output_tokens": 9, "k": 0)"};
  Replica rig;
  Stream whole = split(rig.stream(test.path, bodyOf(test, "{}")));
  ASSERT_GT(whole.comments.size(), 3u);
  for (size_t cut = 1; cut < whole.comments.size(); ++cut) {
    Replica other;
    Stream rest = split(
        other.stream(test.path, bodyOf(test, resumeAfter(whole, cut, 1))));
    std::string all;
    for (size_t i = 0; i < cut; ++i)
      all += whole.events[i];
    for (const std::string &events : rest.events)
      all += events;
    size_t next = 0;
    for (size_t begin = 0;
         (begin = all.find("\"sequence_number\": ", begin)) != all.npos;) {
      begin += 19;
      EXPECT_EQ(std::stoul(all.substr(begin)), next++) << cut;
    }
    EXPECT_GT(next, 10u) << cut;
  }
}

TEST(Resume, UsageCountsTheWholeAnswer) {
  Case test = {"/v1/completions",
               R"("prompt": [1, 2, 3], "max_tokens": 9,
                  "stream_options": {"include_usage": true})"};
  Replica rig;
  std::string text = rig.stream(
      test.path, bodyOf(test, R"({"answers": [{"tokens": [4, 5]}]})"));
  EXPECT_NE(text.find(R"("prompt_tokens": 3, "completion_tokens": 9)"),
            text.npos)
      << text;
}

TEST(Resume, AServerWithoutTheFlagIgnoresTheField) {
  Case test = {"/v1/completions", R"("prompt": [1], "max_tokens": 3)"};
  Replica rig;
  rig.facts.isReplica = false;
  std::string body = bodyOf(test, R"({"answers": [{"tokens": [4, 5]}]})");
  RouteAnswer answer = rig.ask("POST", test.path, body);
  EXPECT_EQ(answer.reply.ignored, (std::vector<std::string>{"resume"}));
  EXPECT_EQ(rig.stream(test.path, body).find(": resume"), std::string::npos);
}

TEST(Resume, RefusesWhatNoGateSends) {
  struct {
    const char *resume, *field;
    const char *more = R"("stream": true, )";
  } cases[] = {
      {"7", "resume"},
      {R"({"seed": -1})", "resume.seed"},
      {R"({"created": "now"})", "resume.created"},
      {R"({"other": 1})", "resume.other"},
      {R"({"answers": 1})", "resume.answers"},
      {R"({"answers": []})", ""},
      {R"({"answers": [1]})", "resume.answers[0]"},
      {R"({"answers": [null, null]})", "resume.answers"},
      {R"({"answers": [{"tokens": [1, 64]}]})", "resume.answers[0].tokens"},
      {R"({"answers": [{"tokens": "1"}]})", "resume.answers[0].tokens"},
      {R"({"answers": [{"text": "1"}]})", "resume.answers[0].text"},
      {R"({"answers": [{"finish": "tool"}]})", "resume.answers[0].finish"},
      {R"({"answers": [{"scores": 1}]})", "resume.answers[0].scores"},
      {R"({"answers": [{"scores": [[1]]}]})", "resume.answers[0].scores"},
      {R"({"answers": [{"tokens": [1], "scores": [[1, 2]]}]})",
       "resume.answers[0].scores"},
      {R"({"answers": [{"tokens": [1], "scores": [[1, 64, 2]]}]})",
       "resume.answers[0].scores"},
      {R"({"answers": [{"tokens": [1], "scores": [[4294967296]]}]})",
       "resume.answers[0].scores"},
      {R"({"answers": [{"tokens": [1, 1, 1, 1]}]})",
       "resume.answers[0].tokens"},
      {R"({"answers": [null]})", "resume.answers", ""},
  };
  for (const auto &c : cases) {
    Replica rig;
    std::string text = rig.stream(
        "/v1/completions",
        strCat("{", c.more, R"("prompt": [1], "max_tokens": 3, "resume": )",
               c.resume, "}"));
    std::string field = strCat("\"param\": \"", c.field, "\"");
    EXPECT_EQ(text.find(field) != text.npos, *c.field != 0)
        << c.resume << ": " << text;
  }
}

TEST(Resume, RefusesMoreTokensThanTheContextHas) {
  Replica rig;
  std::string most(300000, ' ');
  for (size_t i = 0; i + 3 < most.size(); i += 3)
    most.replace(i, 2, "1,");
  most += "1";
  std::string text = rig.stream(
      "/v1/completions",
      strCat(R"({"stream": true, "prompt": [1], "resume": {"answers": [)"
             R"({"tokens": [)",
             most, "]}]}}"));
  EXPECT_NE(text.find("expected at most 96 tokens"), text.npos)
      << text.substr(0, 300);
}

//===----------------------------------------------------------------------===//
// Given tokens
//===----------------------------------------------------------------------===//

namespace {

/// Returns the number of tokens in a field "resume" of one answer.
size_t tokensIn(const std::string &resume) {
  if (resume.find("[]") != resume.npos || resume.find("null") != resume.npos)
    return 0;
  return 1 +
         size_t(std::ranges::count(resume.substr(resume.find("tokens")), ','));
}

/// A generation of a chat whose tokens the test gives.
struct Given {
  Given(const std::string &body, const Tokenizer *tokenizer) {
    facts.names = {"tiny"};
    facts.tokenizer = tokenizer;
    facts.vocab = 300;
    facts.maxContext = 96;
    facts.isReplica = true;
    facts.reasoning = ReasoningFormat::Think;
    GenerationRequest request;
    MaybeError error = parseCompletion(body, facts, request);
    EXPECT_FALSE(error) << error->message;
    std::vector<PreparedPrompt> prompts;
    EXPECT_FALSE(preparePrompts(request, facts, prompts));
    request.isChat = true;
    SequenceControls controls = {[](Handle) {}, [](Handle) {}, [](Handle) {}};
    generation = std::make_unique<Generation>(request, facts, "cmpl-1", 1000, 5,
                                              controls);
    EXPECT_FALSE(generation->begin(prompts));
  }

  /// Gives a token, or the end, and returns the new events.
  std::string give(std::vector<int32_t> tokens,
                   FinishReason finish = FinishReason::None) {
    EngineEvent event;
    event.handle = 5;
    event.accepted = !isAccepted;
    isAccepted = true;
    event.tokens = std::move(tokens);
    event.finish = finish;
    generation->take(event);
    return generation->hasNews() ? generation->takeEvents() : "";
  }

  ModelFacts facts;
  bool isAccepted = false;
  std::unique_ptr<Generation> generation;
};

} // namespace

// Characters of several tokens, marks of reasoning and begun stop strings are
// held back at many of these cuts.
TEST(Resume, HeldBackTextIsNeitherLostNorRepeated) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  const std::string output = "<think>a\xc3\xa9"
                             "b</think>c\xe2\x82\xac-stoop-stop!";
  auto body = [](const std::string &resume) {
    return strCat(R"({"prompt": [1], "stream": true, "max_tokens": 90, )",
                  R"("stop": ["-stop!"], "resume": )", resume, "}");
  };
  auto run = [&](const std::string &resume, size_t from) {
    Given given(body(resume), tokenizer.get());
    std::string events;
    for (char c : output.substr(from))
      events += given.give({uint8_t(c)});
    return events + given.give({}, FinishReason::Cancelled);
  };
  Stream whole = split(run("{}", 0));
  std::string shown;
  for (const std::string &events : whole.events)
    shown += events;
  std::map<std::string, Texts> expected = read(shown);
  EXPECT_EQ(expected["0"]["reasoning"], "a\xc3\xa9"
                                        "b");
  EXPECT_EQ(expected["0"]["text"], "c\xe2\x82\xac-stoop");
  EXPECT_EQ(expected["0"]["end"], "stop");
  size_t cuts = 0;
  for (size_t cut = 0; cut + 1 < whole.comments.size(); ++cut) {
    std::string resume = resumeAfter(whole, cut, 1);
    size_t tokens = tokensIn(resume);
    std::string before;
    for (size_t i = 0; i < cut; ++i)
      before += whole.events[i];
    EXPECT_EQ(read(before + run(resume, tokens)), expected)
        << resume << " " << tokens;
    ++cuts;
  }
  EXPECT_GT(cuts, 8u);
}

// A server that ends or fails has not finished the answer: another one does.
TEST(Resume, EventsOfAFailureHaveNoComment) {
  std::vector<uint8_t> tables = byteTokenizer();
  auto tokenizer = *Tokenizer::load(tables);
  std::string body = R"({"prompt": [1], "stream": true, "resume": {}})";
  Given cancelled(body, tokenizer.get());
  EXPECT_EQ(split(cancelled.give({'a'})).rest, "");
  EXPECT_NE(split(cancelled.give({}, FinishReason::Cancelled)).rest, "");
  for (unsigned status : {500u, 503u, 504u, 400u}) {
    Given failing(body, tokenizer.get());
    failing.give({'a'});
    ApiError error;
    error.status = status;
    failing.generation->fail(error);
    Stream stream = split(failing.generation->takeEvents());
    EXPECT_EQ(stream.rest.empty(), status == 504 || status == 400) << status;
  }
}

namespace {

const char *const kCallOutput =
    "Well.<tool_call>{\"name\": \"add\", \"arguments\": {\"b\": 5, "
    "\"a\": \"x\"}}</tool_call>";

/// Returns the events of a chat with tools whose model gives the output from
/// byte `from` on.
std::string runCalls(const ToolRig &rig, const std::string &resume,
                     size_t from) {
  GenerationRequest request;
  MaybeError error = rig.read(
      AnswerForm::OpenAi,
      strCat(R"("messages": [{"role": "user", "content": "q"}], )", kChatTools,
             R"(, "stream": true, "max_tokens": 900, "resume": )", resume),
      request);
  EXPECT_FALSE(error) << error->message;
  std::vector<PreparedPrompt> prompts;
  EXPECT_FALSE(preparePrompts(request, rig.facts, prompts));
  SequenceControls controls = {[](Handle) {}, [](Handle) {}, [](Handle) {}};
  Generation generation(request, rig.facts, "chatcmpl-1", 1000, 5, controls);
  EXPECT_FALSE(generation.begin(prompts));
  std::string events;
  auto give = [&](std::vector<int32_t> tokens, FinishReason finish) {
    EngineEvent event;
    event.handle = 5;
    event.accepted = events.empty();
    event.tokens = std::move(tokens);
    event.finish = finish;
    generation.take(event);
    while (generation.hasNews())
      events += generation.takeEvents();
  };
  for (char c : std::string(kCallOutput).substr(from))
    give({uint8_t(c)}, FinishReason::None);
  give({}, FinishReason::Stop);
  return events;
}

} // namespace

// A call that is cut goes on, and keeps its id.
TEST(Resume, CallsGoOn) {
  ToolRig rig;
  rig.facts.isReplica = true;
  rig.facts.maxContext = 4096;
  rig.facts.vocab = 300;
  std::string all = runCalls(rig, "{}", 0);
  Stream whole = split(all);
  std::map<std::string, Texts> expected = read(all);
  EXPECT_EQ(expected["0"]["text"], "Well.");
  EXPECT_EQ(expected["0"]["name"], "add");
  EXPECT_EQ(expected["0"]["arguments"], "{\"b\": 5, \"a\": \"x\"}");
  EXPECT_EQ(expected["0"]["end"], "tool_calls");
  EXPECT_NE(expected["0"]["call"], "");
  size_t inside = 0;
  for (size_t cut = 0; cut + 1 < whole.comments.size(); ++cut) {
    std::string resume = resumeAfter(whole, cut, 1);
    if (resume.find("finish") != resume.npos)
      continue;
    std::string shown;
    for (size_t i = 0; i < cut; ++i)
      shown += whole.events[i];
    inside += shown.find("tool_calls") != shown.npos;
    EXPECT_EQ(read(shown + runCalls(rig, resume, tokensIn(resume))), expected)
        << resume;
  }
  EXPECT_GT(inside, 3u);
}
