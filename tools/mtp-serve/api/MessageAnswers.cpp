//===- MessageAnswers.cpp - Anthropic's messages --------------------------===//

#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"

using namespace mtp;
using namespace mtp::serve;

static const char *stopReason(const ChoicePart &part) {
  if (part.stopString)
    return "stop_sequence";
  if (endsWithCalls(part))
    return "tool_use";
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

/// Writes the block of a call; `input` is the JSON of its arguments.
static void writeCall(JsonWriter &json, const std::string &id,
                      const std::string &name, const std::string &input) {
  json.beginObject();
  json.field("type", "tool_use");
  json.field("id", id);
  json.field("name", name);
  json.key("input");
  json.raw(input);
  json.endObject();
}

namespace {
class MessagesWriter : public AnswerWriter {
public:
  explicit MessagesWriter(ToolFormat format) : format(format) {}

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
  enum class Block { None, Thinking, Text, Call };

  /// Returns a message; without a part the begin of one.
  std::string message(const AnswerHead &head, const ChoicePart *part,
                      const Usage &usage) const;
  void writeContent(JsonWriter &json, const AnswerHead &head,
                    const ChoicePart &part) const;
  std::string idOf(const AnswerHead &head, size_t call) const {
    return callId("toolu_", format, head.id, 0, call);
  }
  std::string addPiece(const AnswerHead &head, const CallPiece &piece);
  template <typename Write>
  std::string beginBlock(Block kind, Write write);
  template <typename Write>
  std::string delta(Write write) const;
  /// Returns the events that add text to a block of a kind.
  std::string add(Block kind, const std::string &text);
  std::string closeBlock();

  ToolFormat format;
  Block open = Block::None;
  size_t index = 0;
  ChoicePart last;
};
} // namespace

/// Writes the blocks of a whole answer, of which there is at least one.
void MessagesWriter::writeContent(JsonWriter &json, const AnswerHead &head,
                                  const ChoicePart &part) const {
  if (!part.reasoning.empty())
    writeBlock(json, true, part.reasoning);
  std::vector<AnswerBlock> blocks = blocksOf(part.text, part.pieces);
  for (const AnswerBlock &block : blocks)
    if (block.isCall)
      writeCall(json, idOf(head, block.call), block.name, block.text);
    else
      writeBlock(json, false, block.text);
  if (blocks.empty() && part.reasoning.empty())
    writeBlock(json, false, "");
}

std::string MessagesWriter::message(const AnswerHead &head,
                                    const ChoicePart *part,
                                    const Usage &usage) const {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("id", head.id);
  json.field("type", "message");
  json.field("role", "assistant");
  json.field("model", head.model);
  json.key("content");
  json.beginArray();
  if (part)
    writeContent(json, head, *part);
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

/// Begins a block that `write` writes, after the end of another one.
template <typename Write>
std::string MessagesWriter::beginBlock(Block kind, Write write) {
  std::string events = closeBlock();
  open = kind;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "content_block_start");
  json.field("index", index);
  json.key("content_block");
  write(json);
  json.endObject();
  return events + sseEvent("content_block_start", json.text());
}

/// Returns the event that adds the members of `write` to the open block.
template <typename Write>
std::string MessagesWriter::delta(Write write) const {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "content_block_delta");
  json.field("index", index);
  json.key("delta");
  json.beginObject();
  write(json);
  json.endObject();
  json.endObject();
  return sseEvent("content_block_delta", json.text());
}

std::string MessagesWriter::add(Block kind, const std::string &text) {
  bool isThinking = kind == Block::Thinking;
  std::string events;
  if (open != kind)
    events = beginBlock(
        kind, [&](JsonWriter &json) { writeBlock(json, isThinking, ""); });
  if (text.empty())
    return events;
  return events + delta([&](JsonWriter &json) {
           json.field("type", isThinking ? "thinking_delta" : "text_delta");
           json.field(isThinking ? "thinking" : "text", text);
         });
}

/// Returns the events of a call's piece, or of text after a call.
std::string MessagesWriter::addPiece(const AnswerHead &head,
                                     const CallPiece &piece) {
  switch (piece.kind) {
  case CallPiece::Kind::Broken:
  case CallPiece::Kind::Text:
    return add(Block::Text, piece.text);
  case CallPiece::Kind::Begin:
    return beginBlock(Block::Call, [&](JsonWriter &json) {
      writeCall(json, idOf(head, piece.call), piece.text, "{}");
    });
  case CallPiece::Kind::Arguments:
    return delta([&](JsonWriter &json) {
      json.field("type", "input_json_delta");
      json.field("partial_json", piece.text);
    });
  case CallPiece::Kind::End:
    return closeBlock();
  }
  return "";
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
  for (const CallPiece &piece : part.pieces)
    events += addPiece(head, piece);
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
serve::makeMessagesWriter(const GenerationRequest &request) {
  return std::make_unique<MessagesWriter>(request.tools.facts.format);
}
