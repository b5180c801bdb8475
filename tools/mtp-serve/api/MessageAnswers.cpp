//===- MessageAnswers.cpp - Anthropic's messages --------------------------===//

#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"

using namespace mtp;
using namespace mtp::serve;

static const char *stopReason(const ChoicePart &part) {
  if (part.stopString)
    return "stop_sequence";
  return part.finish == FinishReason::Length ? "max_tokens" : "end_turn";
}

/// Writes the counts. The cached part of the prompt counts separately.
static void writeUsage(JsonWriter &json, const Usage &usage) {
  json.key("usage");
  json.beginObject();
  json.field("input_tokens", usage.promptTokens - usage.cachedTokens);
  json.field("cache_creation_input_tokens", 0);
  json.field("cache_read_input_tokens", usage.cachedTokens);
  json.field("output_tokens", usage.outputTokens);
  json.endObject();
}

/// Writes why and by which stop string an answer has ended, or nulls.
static void writeStop(JsonWriter &json, const ChoicePart *part) {
  json.key("stop_reason");
  if (part)
    json.value(stopReason(*part));
  else
    json.null();
  json.key("stop_sequence");
  if (part && part->stopString)
    json.value(*part->stopString);
  else
    json.null();
}

static void writeBlock(JsonWriter &json, bool isThinking,
                       const std::string &text) {
  json.beginObject();
  json.field("type", isThinking ? "thinking" : "text");
  json.field(isThinking ? "thinking" : "text", text);
  if (isThinking)
    json.field("signature", "");
  json.endObject();
}

namespace {
class MessagesWriter : public AnswerWriter {
public:
  std::string whole(const AnswerHead &head,
                    const std::vector<ChoicePart> &parts,
                    const Usage &usage) override {
    return message(head, &parts.front(), usage);
  }
  std::string events(const AnswerHead &head, const ChoicePart &part,
                     const Usage &soFar) override;
  std::string lastEvents(const AnswerHead &head, const Usage &usage,
                         const Timings &timings) override;
  std::string errorEvent(const ApiError &error) override {
    return sseEvent("error", errorJson(error));
  }

private:
  enum class Block { None, Thinking, Text };

  /// Returns a message; without a part the begin of one.
  static std::string message(const AnswerHead &head, const ChoicePart *part,
                             const Usage &usage);
  /// Returns the events that add text to a block of a kind.
  std::string add(Block kind, const std::string &text);
  std::string closeBlock();

  Block open = Block::None;
  size_t index = 0;
  ChoicePart last;
};
} // namespace

std::string MessagesWriter::message(const AnswerHead &head,
                                    const ChoicePart *part,
                                    const Usage &usage) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("id", head.id);
  json.field("type", "message");
  json.field("role", "assistant");
  json.field("model", head.model);
  json.key("content");
  json.beginArray();
  if (part && !part->reasoning.empty())
    writeBlock(json, true, part->reasoning);
  if (part && (!part->text.empty() || part->reasoning.empty()))
    writeBlock(json, false, part->text);
  json.endArray();
  writeStop(json, part);
  writeUsage(json, usage);
  json.endObject();
  return json.text();
}

std::string MessagesWriter::closeBlock() {
  if (open == Block::None)
    return "";
  open = Block::None;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "content_block_stop");
  json.field("index", index++);
  json.endObject();
  return sseEvent("content_block_stop", json.text());
}

std::string MessagesWriter::add(Block kind, const std::string &text) {
  bool isThinking = kind == Block::Thinking;
  std::string events;
  if (open != kind) {
    events = closeBlock();
    open = kind;
    JsonWriter json(JsonWriter::Layout::OneLine);
    json.beginObject();
    json.field("type", "content_block_start");
    json.field("index", index);
    json.key("content_block");
    writeBlock(json, isThinking, "");
    json.endObject();
    events += sseEvent("content_block_start", json.text());
  }
  if (text.empty())
    return events;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "content_block_delta");
  json.field("index", index);
  json.key("delta");
  json.beginObject();
  json.field("type", isThinking ? "thinking_delta" : "text_delta");
  json.field(isThinking ? "thinking" : "text", text);
  json.endObject();
  json.endObject();
  return events + sseEvent("content_block_delta", json.text());
}

std::string MessagesWriter::events(const AnswerHead &head,
                                   const ChoicePart &part, const Usage &soFar) {
  std::string events;
  if (part.isFirst) {
    Usage begin = soFar;
    begin.outputTokens = 0;
    events = sseEvent("message_start", "{\"type\": \"message_start\", "
                                       "\"message\": " +
                                           message(head, nullptr, begin) + "}");
  }
  if (!part.reasoning.empty())
    events += add(Block::Thinking, part.reasoning);
  if (!part.text.empty())
    events += add(Block::Text, part.text);
  if (part.finish == FinishReason::None)
    return events;
  // Each message has a block.
  if (open == Block::None && index == 0)
    events += add(Block::Text, "");
  last = part;
  return events + closeBlock();
}

std::string MessagesWriter::lastEvents(const AnswerHead &, const Usage &usage,
                                       const Timings &) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "message_delta");
  json.key("delta");
  json.beginObject();
  writeStop(json, &last);
  json.endObject();
  writeUsage(json, usage);
  json.endObject();
  return sseEvent("message_delta", json.text()) +
         sseEvent("message_stop", "{\"type\": \"message_stop\"}");
}

std::unique_ptr<AnswerWriter>
serve::makeMessagesWriter(const GenerationRequest &) {
  return std::make_unique<MessagesWriter>();
}
