//===- ToolRig.h - Requests and answers with tools --------------*- C++ -*-===//

#ifndef MTP_TEST_SERVE_TOOLRIG_H
#define MTP_TEST_SERVE_TOOLRIG_H

#include "runtime/core/StrCat.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "test/Serve/RoutesRig.h"
#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Choice.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"

namespace mtp::test {

using namespace mtp::serve;

inline constexpr std::string_view kToolTemplate =
    "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for m in messages %}"
    "{{ m | tojson }}\n{% endfor %}";

inline constexpr std::string_view kChatTools =
    R"("tools": [{"type": "function", "function": {"name": "add",)"
    R"( "description": "d", "parameters": {"type": "object", "properties":)"
    R"( {"b": {"type": "integer"}, "a": {"type": "string"}}}}}])";
inline constexpr std::string_view kFlatTools =
    R"("tools": [{"type": "function", "name": "add", "description": "d",)"
    R"( "parameters": {"type": "object", "properties":)"
    R"( {"b": {"type": "integer"}, "a": {"type": "string"}}}}])";
inline constexpr std::string_view kMessagesTools =
    R"("tools": [{"name": "add", "description": "d",)"
    R"( "input_schema": {"type": "object", "properties":)"
    R"( {"b": {"type": "integer"}, "a": {"type": "string"}}}}])";

/// A model with a tokenizer of bytes and a template that shows tools.
struct ToolRig {
  explicit ToolRig(ToolFormat format = ToolFormat::Hermes, CallForm form = {})
      : tables(byteTokenizer()), tokenizer(*Tokenizer::load(tables)),
        chat(*ChatTemplate::parse(
            {{{"default", std::string(kToolTemplate)}}, {}})) {
    RoutesRig::makeFacts(facts);
    facts.tokenizer = tokenizer.get();
    facts.chat = chat.get();
    facts.tools = {format, form};
  }

  MaybeError read(AnswerForm form, std::string_view fields,
                  GenerationRequest &request) const {
    std::string body = strCat("{", fields, "}");
    if (form == AnswerForm::Messages)
      return parseMessages(body, facts, request);
    return form == AnswerForm::Responses ? parseResponses(body, facts, request)
                                         : parseChat(body, facts, request);
  }
  /// Returns the prompt of a request, or "param: message" of its error.
  std::string prompt(AnswerForm form, std::string_view fields) const {
    GenerationRequest request;
    ChatPrompt prompt;
    MaybeError error = read(form, fields, request);
    if (!error)
      error = renderChat(request, facts, prompt);
    return error ? strCat(error->param, " | ", error->message) : prompt.text;
  }
  /// Returns the prompt of a chat with one question.
  std::string chatPrompt(std::string_view fields) const {
    return prompt(
        AnswerForm::OpenAi,
        strCat(R"("messages": [{"role": "user", "content": "q"}], )", fields));
  }

  std::vector<uint8_t> tables;
  std::unique_ptr<Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat;
  ModelFacts facts;
};

/// A request whose answers are made without a model.
struct Answered {
  Answered(const ToolRig &rig, AnswerForm form, std::string_view more = "") {
    std::string_view tools = form == AnswerForm::Messages    ? kMessagesTools
                             : form == AnswerForm::Responses ? kFlatTools
                                                             : kChatTools;
    std::string fields =
        strCat(form == AnswerForm::Responses
                   ? R"("input": "q", )"
                   : R"("messages": [{"role": "user", "content": "q"}], )",
               form == AnswerForm::Messages ? R"("max_tokens": 9, )" : "",
               tools, more);
    MaybeError error = rig.read(form, fields, request);
    EXPECT_FALSE(error) << error->message;
    tokenizer = rig.tokenizer.get();
  }

  Choice choice() const {
    ChoiceOptions options;
    options.tokenizer = tokenizer;
    options.reasoning = ReasoningFormat::Think;
    options.tools = &request.tools;
    return Choice(std::move(options));
  }
  static std::vector<int32_t> tokensOf(std::string_view text) {
    std::vector<int32_t> ids;
    for (char c : text)
      ids.push_back(uint8_t(c));
    return ids;
  }
  static ChoicePart partOf(Choice &choice, size_t most) {
    ChoicePart part;
    part.text = choice.pending().takeText(most);
    part.reasoning = choice.pending().takeReasoning(most);
    if (choice.pending().text.empty())
      part.pieces = choice.pending().pieces.take(most);
    part.calls = choice.callCount();
    return part;
  }

  /// Returns the whole answer of a text.
  std::string whole(std::string_view text,
                    FinishReason finish = FinishReason::Stop) const {
    Choice one = choice();
    EXPECT_TRUE(one.take(tokensOf(text)).isOk());
    one.end(finish, {});
    ChoicePart part = partOf(one, SIZE_MAX);
    part.finish = one.finishReason();
    return makeWriter(request)->whole({"id", "m", 1, ""}, {part}, {});
  }
  /// Returns the events of a text, with an event for each token and at most
  /// `most` bytes.
  std::string stream(std::string_view text,
                     FinishReason finish = FinishReason::Stop,
                     size_t most = 64) const {
    std::unique_ptr<AnswerWriter> writer = makeWriter(request);
    std::string all;
    Choice one = choice();
    bool isFirst = true;
    auto write = [&] {
      while (isFirst || one.pending().hasNews()) {
        ChoicePart part = partOf(one, most);
        part.isFirst = std::exchange(isFirst, false);
        all += writer->events({"id", "m", 1, ""}, part, {});
      }
    };
    for (int32_t token : tokensOf(text)) {
      EXPECT_TRUE(one.take({&token, 1}).isOk());
      write();
    }
    one.end(finish, {});
    write();
    ChoicePart part = partOf(one, most);
    part.finish = one.finishReason();
    all += writer->events({"id", "m", 1, ""}, part, {});
    all += writer->lastEvents({"id", "m", 1, ""}, {}, {});
    return all;
  }
  /// Returns the data of the events.
  std::vector<std::string> events(std::string_view text,
                                  FinishReason finish = FinishReason::Stop,
                                  size_t most = 64) const {
    std::string all = stream(text, finish, most);
    std::vector<std::string> data;
    constexpr std::string_view kData = "data: ";
    for (size_t at = 0; (at = all.find(kData, at)) != all.npos;) {
      at += kData.size();
      data.push_back(all.substr(at, all.find("\n\n", at) - at));
    }
    return data;
  }

  GenerationRequest request;
  const Tokenizer *tokenizer = nullptr;
};

inline constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"b": 1, "a": "x"}})"
    "</tool_call>";
inline constexpr std::string_view kArguments = R"({"b": 1, "a": "x"})";

} // namespace mtp::test

#endif // MTP_TEST_SERVE_TOOLRIG_H
