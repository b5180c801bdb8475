//===- ResponseAnswers.cpp - OpenAI's responses ---------------------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"
#include "tools/mtp-serve/api/sampling/WriteScores.h"

#include <utility>

using namespace mtp;
using namespace mtp::serve;

namespace {
/// An item of the output.
struct Item {
  enum class Kind : uint8_t { Reasoning, Message, Call };

  Kind kind = Kind::Message;
  /// The text, or the arguments of a call.
  std::string text;
  /// The name of a call's tool, and the number of the call.
  std::string name = {};
  size_t call = 0;
  /// Whether the call is not valid.
  bool isBroken = false;
  /// The log-probabilities of a message's tokens, separated by commas.
  std::string scores = {};

  bool isReasoning() const { return kind == Kind::Reasoning; }
  bool isCall() const { return kind == Kind::Call; }
};

class ResponsesWriter : public AnswerWriter {
public:
  explicit ResponsesWriter(const GenerationRequest &request)
      : request(request), instructions(request.instructions) {}

  std::string whole(const AnswerHead &head,
                    const std::vector<ChoicePart> &parts,
                    const Usage &usage) override;
  std::string events(const AnswerHead &head, const ChoicePart &part,
                     const Usage &soFar) override;
  std::string lastEvents(const AnswerHead &head, const Usage &usage,
                         const Timings &timings) override;
  std::string errorEvent(const ApiError &error) override;
  uint64_t eventCount() const override { return number; }
  void setEventCount(uint64_t count) override { number = count; }

private:
  /// Returns the response; without a usage the begin of one.
  std::string response(const AnswerHead &head, const Usage *usage) const;
  void writeSettings(JsonWriter &json) const;
  void writeItem(JsonWriter &json, const AnswerHead &head, size_t index,
                 bool isDone) const;
  void writeText(JsonWriter &json, const Item &item,
                 const std::string &text) const;
  /// Adds the log-probabilities of a part to `scores`.
  void addScores(const ChoicePart &part);
  void writeCall(JsonWriter &json, const AnswerHead &head, const Item &item,
                 bool isDone) const;
  std::string itemId(const AnswerHead &head, size_t index) const;

  /// Returns an event with the next number and the members that `json` adds.
  template <typename Write>
  std::string event(const std::string &type, Write write);
  std::string responseEvent(const std::string &type, const AnswerHead &head,
                            const Usage *usage);
  /// Returns the event of an item as a whole, or of its text.
  std::string itemEvent(const std::string &type, const AnswerHead &head,
                        bool isDone);
  std::string partEvent(const std::string &type, const AnswerHead &head,
                        const std::string &text);
  std::string textEvent(const std::string &type, const AnswerHead &head,
                        const char *member, const std::string &text,
                        const std::string &logprobs);
  std::string add(const AnswerHead &head, Item::Kind kind,
                  const std::string &text);
  std::string addPiece(const AnswerHead &head, const CallPiece &piece);
  std::string argumentsEvent(const std::string &type, const AnswerHead &head,
                             const char *member, const std::string &text);
  std::string closeItem(const AnswerHead &head);

  const GenerationRequest &request;
  std::string instructions;
  std::vector<Item> items;
  /// Log-probabilities that belong to the next text of a message.
  std::string scores;
  FinishReason finish = FinishReason::None;
  bool isOpen = false;
  uint64_t number = 0;
};
} // namespace

std::string ResponsesWriter::itemId(const AnswerHead &head,
                                    size_t index) const {
  const Item &item = items[index];
  return strCat(item.isReasoning() ? "rs_"
                : item.isCall()    ? "fc_"
                                   : "msg_",
                head.id, "_", index);
}

void ResponsesWriter::writeText(JsonWriter &json, const Item &item,
                                const std::string &text) const {
  json.beginObject();
  json.field("type", item.isReasoning() ? "reasoning_text" : "output_text");
  json.field("text", text);
  if (!item.isReasoning()) {
    json.key("annotations");
    json.raw("[]");
    json.key("logprobs");
    json.raw("[" + (text.empty() ? std::string() : item.scores) + "]");
  }
  json.endObject();
}

static void append(std::string &list, const std::string &more) {
  list += list.empty() || more.empty() ? more : ", " + more;
}

void ResponsesWriter::addScores(const ChoicePart &part) {
  // The tokens of reasoning have no place in the answer.
  bool isMessage = !part.text.empty() || part.reasoning.empty();
  if (!part.scores || part.scores->empty() || !isMessage)
    return;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginArray();
  ScoreWriter(json, request.scores, part.tokenizer, /*isGreedy=*/false)
      .writeChatTokens(*part.scores);
  json.endArray();
  std::string list = json.text();
  append(scores, list.substr(1, list.size() - 2));
}

/// Writes the members of a call.
void ResponsesWriter::writeCall(JsonWriter &json, const AnswerHead &head,
                                const Item &item, bool isDone) const {
  json.field("call_id", callId("call_", request.tools.facts.format, head.id, 0,
                               item.call));
  json.field("name", item.name);
  json.field("arguments", isDone ? item.text : std::string());
}

void ResponsesWriter::writeItem(JsonWriter &json, const AnswerHead &head,
                                size_t index, bool isDone) const {
  const Item &item = items[index];
  bool isCut = item.isBroken || (isDone && finish == FinishReason::Length &&
                                 index + 1 == items.size() && !item.isCall());
  json.beginObject();
  json.field("type", item.isReasoning() ? "reasoning"
                     : item.isCall()    ? "function_call"
                                        : "message");
  json.field("id", itemId(head, index));
  json.field("status", isCut    ? "incomplete"
                       : isDone ? "completed"
                                : "in_progress");
  if (item.isCall()) {
    writeCall(json, head, item, isDone);
    return json.endObject();
  }
  if (item.isReasoning()) {
    json.key("summary");
    json.raw("[]");
  } else {
    json.field("role", "assistant");
  }
  json.key("content");
  json.beginArray();
  if (isDone)
    writeText(json, item, item.text);
  json.endArray();
  json.endObject();
}

/// Writes the settings of the request, as OpenAI does.
void ResponsesWriter::writeSettings(JsonWriter &json) const {
  auto raw = [&json](const char *name, std::string_view value) {
    json.key(name);
    json.raw(value);
  };
  json.key("instructions");
  if (instructions.empty())
    json.null();
  else
    json.value(instructions);
  json.key("max_output_tokens");
  uint32_t most = request.maxTokens.value_or(GenerationRequest::kRestOfContext);
  if (most == GenerationRequest::kRestOfContext)
    json.null();
  else
    json.value(most);
  raw("metadata", "{}");
  json.field("parallel_tool_calls", request.tools.isParallel);
  raw("previous_response_id", "null");
  raw("reasoning", R"({"effort": null, "summary": null})");
  json.field("store", false);
  json.field("temperature", request.sampling.temperature);
  raw("text", strCat("{\"format\": ",
                     request.givenFormat.empty() ? R"({"type": "text"})"
                                                 : request.givenFormat,
                     "}"));
  const ToolUse &tools = request.tools;
  raw("tool_choice",
      tools.givenChoice.empty() ? R"("auto")" : tools.givenChoice);
  raw("tools", tools.given.empty() ? "[]" : tools.given);
  json.field("top_p", request.sampling.topP);
  json.field("truncation", "disabled");
}

static void writeUsage(JsonWriter &json, const Usage *usage) {
  json.key("usage");
  if (!usage)
    return json.null();
  json.beginObject();
  json.field("input_tokens", usage->promptTokens);
  json.key("input_tokens_details");
  json.beginObject();
  json.field("cached_tokens", usage->cachedTokens);
  json.endObject();
  json.field("output_tokens", usage->outputTokens);
  json.key("output_tokens_details");
  json.beginObject();
  json.field("reasoning_tokens", usage->reasoningTokens);
  json.endObject();
  json.field("total_tokens", usage->promptTokens + usage->outputTokens);
  json.endObject();
}

std::string ResponsesWriter::response(const AnswerHead &head,
                                      const Usage *usage) const {
  bool isCut = usage && finish == FinishReason::Length;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("id", head.id);
  json.field("object", "response");
  json.field("created_at", head.created);
  json.field("status", !usage  ? "in_progress"
                       : isCut ? "incomplete"
                               : "completed");
  json.key("error");
  json.null();
  json.key("incomplete_details");
  json.raw(isCut ? R"({"reason": "max_output_tokens"})" : "null");
  json.field("model", head.model);
  json.key("output");
  json.beginArray();
  for (size_t i = 0; usage && i < items.size(); ++i)
    writeItem(json, head, i, /*isDone=*/true);
  json.endArray();
  writeSettings(json);
  writeUsage(json, usage);
  json.endObject();
  return json.text();
}

std::string ResponsesWriter::whole(const AnswerHead &head,
                                   const std::vector<ChoicePart> &parts,
                                   const Usage &usage) {
  const ChoicePart &part = parts.front();
  finish = part.finish;
  if (!part.reasoning.empty())
    items.push_back({Item::Kind::Reasoning, part.reasoning});
  for (AnswerBlock &block : blocksOf(part.text, part.pieces))
    items.push_back({block.isCall ? Item::Kind::Call : Item::Kind::Message,
                     std::move(block.text), std::move(block.name), block.call});
  if (items.empty())
    items.push_back({Item::Kind::Message, ""});
  addScores(part);
  for (Item &item : items)
    if (item.kind == Item::Kind::Message)
      item.scores = std::exchange(scores, {});
  return response(head, &usage);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

template <typename Write>
std::string ResponsesWriter::event(const std::string &type, Write write) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", type);
  json.field("sequence_number", number++);
  write(json);
  json.endObject();
  return sseEvent(type, json.text());
}

std::string ResponsesWriter::responseEvent(const std::string &type,
                                           const AnswerHead &head,
                                           const Usage *usage) {
  return event(type, [&](JsonWriter &json) {
    json.key("response");
    json.raw(response(head, usage));
  });
}

std::string ResponsesWriter::itemEvent(const std::string &type,
                                       const AnswerHead &head, bool isDone) {
  return event(type, [&](JsonWriter &json) {
    json.field("output_index", items.size() - 1);
    json.key("item");
    writeItem(json, head, items.size() - 1, isDone);
  });
}

std::string ResponsesWriter::partEvent(const std::string &type,
                                       const AnswerHead &head,
                                       const std::string &text) {
  return event(type, [&](JsonWriter &json) {
    json.field("item_id", itemId(head, items.size() - 1));
    json.field("output_index", items.size() - 1);
    json.field("content_index", 0);
    json.key("part");
    writeText(json, items.back(), text);
  });
}

std::string ResponsesWriter::textEvent(const std::string &type,
                                       const AnswerHead &head,
                                       const char *member,
                                       const std::string &text,
                                       const std::string &logprobs) {
  return event(type, [&](JsonWriter &json) {
    json.field("item_id", itemId(head, items.size() - 1));
    json.field("output_index", items.size() - 1);
    json.field("content_index", 0);
    json.field(member, text);
    if (!items.back().isReasoning()) {
      json.key("logprobs");
      json.raw("[" + logprobs + "]");
    }
  });
}

std::string ResponsesWriter::closeItem(const AnswerHead &head) {
  if (!isOpen)
    return "";
  isOpen = false;
  const Item &item = items.back();
  if (item.isCall())
    return argumentsEvent("response.function_call_arguments.done", head,
                          "arguments", item.text) +
           itemEvent("response.output_item.done", head, /*isDone=*/true);
  const char *done = item.isReasoning() ? "response.reasoning_text.done"
                                        : "response.output_text.done";
  if (item.kind == Item::Kind::Message)
    append(items.back().scores, std::exchange(scores, {}));
  return textEvent(done, head, "text", item.text, item.scores) +
         partEvent("response.content_part.done", head, item.text) +
         itemEvent("response.output_item.done", head, /*isDone=*/true);
}

std::string ResponsesWriter::argumentsEvent(const std::string &type,
                                            const AnswerHead &head,
                                            const char *member,
                                            const std::string &text) {
  return event(type, [&](JsonWriter &json) {
    json.field("item_id", itemId(head, items.size() - 1));
    json.field("output_index", items.size() - 1);
    json.field(member, text);
  });
}

/// Returns the events of a call's piece, or of text after a call.
std::string ResponsesWriter::addPiece(const AnswerHead &head,
                                      const CallPiece &piece) {
  std::string events;
  switch (piece.kind) {
  case CallPiece::Kind::Text:
    return add(head, Item::Kind::Message, piece.text);
  case CallPiece::Kind::Begin:
    events = closeItem(head);
    items.push_back({Item::Kind::Call, "", piece.text, piece.call});
    isOpen = true;
    return events + itemEvent("response.output_item.added", head, false);
  case CallPiece::Kind::Arguments:
    items.back().text += piece.text;
    return argumentsEvent("response.function_call_arguments.delta", head,
                          "delta", piece.text);
  case CallPiece::Kind::End:
    return closeItem(head);
  case CallPiece::Kind::Broken:
    items.back().isBroken = true;
    events = closeItem(head);
    return events + add(head, Item::Kind::Message, piece.text);
  }
  return events;
}

std::string ResponsesWriter::add(const AnswerHead &head, Item::Kind kind,
                                 const std::string &text) {
  std::string events;
  if (!isOpen || items.back().kind != kind) {
    events = closeItem(head);
    items.push_back({kind, ""});
    isOpen = true;
    events += itemEvent("response.output_item.added", head, false) +
              partEvent("response.content_part.added", head, "");
  }
  if (text.empty())
    return events;
  items.back().text += text;
  if (kind == Item::Kind::Reasoning)
    return events +
           textEvent("response.reasoning_text.delta", head, "delta", text, "");
  std::string logprobs = std::exchange(scores, {});
  append(items.back().scores, logprobs);
  return events +
         textEvent("response.output_text.delta", head, "delta", text, logprobs);
}

std::string ResponsesWriter::events(const AnswerHead &head,
                                    const ChoicePart &part, const Usage &) {
  std::string events;
  if (part.isFirst)
    events = responseEvent("response.created", head, nullptr) +
             responseEvent("response.in_progress", head, nullptr);
  addScores(part);
  if (!part.reasoning.empty())
    events += add(head, Item::Kind::Reasoning, part.reasoning);
  if (!part.text.empty())
    events += add(head, Item::Kind::Message, part.text);
  for (const CallPiece &piece : part.pieces)
    events += addPiece(head, piece);
  if (part.finish == FinishReason::None)
    return events;
  // Each response has an item.
  if (items.empty())
    events += add(head, Item::Kind::Message, "");
  finish = part.finish;
  return events + closeItem(head);
}

std::string ResponsesWriter::lastEvents(const AnswerHead &head,
                                        const Usage &usage, const Timings &) {
  bool isCut = finish == FinishReason::Length;
  return responseEvent(isCut ? "response.incomplete" : "response.completed",
                       head, &usage);
}

std::string ResponsesWriter::errorEvent(const ApiError &error) {
  return event("error", [&](JsonWriter &json) {
    json.field("code", error.code);
    json.field("message", error.message);
    json.field("param", error.param);
  });
}

std::unique_ptr<AnswerWriter>
serve::makeResponsesWriter(const GenerationRequest &request) {
  return std::make_unique<ResponsesWriter>(request);
}
