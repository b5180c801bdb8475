//===- OpenAiAnswers.cpp - Completions and chats of OpenAI ----------------===//

#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"
#include "tools/mtp-serve/api/sampling/WriteScores.h"

using namespace mtp;
using namespace mtp::serve;

static void writeTokens(JsonWriter &json, const Usage &usage) {
  json.field("prompt_tokens", usage.promptTokens);
  json.field("completion_tokens", usage.outputTokens);
  json.field("total_tokens", usage.promptTokens + usage.outputTokens);
}

static void writeUsage(JsonWriter &json, const Usage &usage, bool isChat) {
  json.key("usage");
  json.beginObject();
  writeTokens(json, usage);
  json.key("prompt_tokens_details");
  json.beginObject();
  json.field("cached_tokens", usage.cachedTokens);
  json.endObject();
  if (isChat) {
    json.key("completion_tokens_details");
    json.beginObject();
    json.field("reasoning_tokens", usage.reasoningTokens);
    json.endObject();
  }
  json.key("speculation");
  json.beginObject();
  json.field("rounds", usage.rounds);
  json.field("drafted_tokens", sumOf(usage.drafted));
  json.field("accepted_tokens", sumOf(usage.accepted));
  json.field("drafted_by_position", usage.drafted);
  json.field("accepted_by_position", usage.accepted);
  json.endObject();
  json.endObject();
}

static void writeTextOrNull(JsonWriter &json, std::string_view name,
                            std::string_view text) {
  json.key(name);
  if (text.empty())
    json.null();
  else
    json.value(text);
}

namespace {
class OpenAiWriter : public AnswerWriter {
public:
  explicit OpenAiWriter(const GenerationRequest &request) : request(request) {}

  std::string whole(const AnswerHead &head,
                    const std::vector<ChoicePart> &parts,
                    const Usage &usage) override;
  std::string events(const AnswerHead &head, const ChoicePart &part,
                     const Usage &soFar) override;
  std::string lastEvents(const AnswerHead &head, const Usage &usage,
                         const Timings &timings) override;

private:
  void writeHead(JsonWriter &json, const AnswerHead &head, bool isPart) const;
  void writeContent(JsonWriter &json, const AnswerHead &head,
                    const ChoicePart &part, bool isPart) const;
  void writeDelta(JsonWriter &json, const AnswerHead &head,
                  const ChoicePart &part) const;
  void writeMessage(JsonWriter &json, const AnswerHead &head,
                    const ChoicePart &part) const;
  void beginCall(JsonWriter &json, const AnswerHead &head, size_t choice,
                 size_t call) const;
  void writePart(JsonWriter &json, const AnswerHead &head,
                 const ChoicePart &part, bool isPart) const;
  void writeScores(JsonWriter &json, const ChoicePart &part, bool isPart) const;
  void writePromptScores(JsonWriter &json, const ChoicePart &part) const;

  const GenerationRequest &request;
};
} // namespace

void OpenAiWriter::writeHead(JsonWriter &json, const AnswerHead &head,
                             bool isPart) const {
  json.field("id", head.id);
  if (request.isChat)
    json.field("object", isPart ? "chat.completion.chunk" : "chat.completion");
  else
    json.field("object", "text_completion");
  json.field("created", head.created);
  json.field("model", head.model);
  writeTextOrNull(json, "system_fingerprint", head.fingerprint);
}

/// Writes the first members of a call.
void OpenAiWriter::beginCall(JsonWriter &json, const AnswerHead &head,
                             size_t choice, size_t call) const {
  json.field(
      "id", callId("call_", request.tools.facts.format, head.id, choice, call));
  json.field("type", "function");
}

/// Writes the new text and calls of a stream. The pieces of one call are one
/// item.
void OpenAiWriter::writeDelta(JsonWriter &json, const AnswerHead &head,
                              const ChoicePart &part) const {
  using Kind = CallPiece::Kind;
  std::string text = part.text;
  bool hasCalls = false;
  for (const CallPiece &piece : part.pieces) {
    text += piece.isText() ? piece.text : "";
    hasCalls |= piece.kind == Kind::Begin || piece.kind == Kind::Arguments;
  }
  if (part.isFirst || !text.empty())
    json.field("content", text);
  if (!hasCalls)
    return;
  json.key("tool_calls");
  json.beginArray();
  for (size_t i = 0; i < part.pieces.size(); ++i) {
    const CallPiece &piece = part.pieces[i];
    if (piece.kind != Kind::Begin && piece.kind != Kind::Arguments)
      continue;
    json.beginObject();
    json.field("index", piece.call);
    const CallPiece *arguments = &piece;
    if (piece.kind == Kind::Begin) {
      beginCall(json, head, part.index, piece.call);
      bool hasMore = i + 1 < part.pieces.size() &&
                     part.pieces[i + 1].kind == Kind::Arguments;
      arguments = hasMore ? &part.pieces[++i] : nullptr;
    }
    json.key("function");
    json.beginObject();
    if (piece.kind == Kind::Begin)
      json.field("name", piece.text);
    json.field("arguments", arguments ? arguments->text : std::string());
    json.endObject();
    json.endObject();
  }
  json.endArray();
}

/// Writes the text and calls of a whole answer.
void OpenAiWriter::writeMessage(JsonWriter &json, const AnswerHead &head,
                                const ChoicePart &part) const {
  std::string text;
  std::vector<AnswerBlock> blocks = blocksOf(part.text, part.pieces);
  for (const AnswerBlock &block : blocks)
    text += block.isCall ? "" : block.text;
  if (part.calls == 0)
    return json.field("content", text);
  writeTextOrNull(json, "content", text);
  json.key("tool_calls");
  json.beginArray();
  for (const AnswerBlock &block : blocks) {
    if (!block.isCall)
      continue;
    json.beginObject();
    beginCall(json, head, part.index, block.call);
    json.key("function");
    json.beginObject();
    json.field("name", block.name);
    json.field("arguments", block.text);
    json.endObject();
    json.endObject();
  }
  json.endArray();
}

/// Writes an answer, or a part of one.
void OpenAiWriter::writeContent(JsonWriter &json, const AnswerHead &head,
                                const ChoicePart &part, bool isPart) const {
  if (!request.isChat)
    return json.field("text", part.text);
  json.key(isPart ? "delta" : "message");
  json.beginObject();
  if (!isPart || part.isFirst)
    json.field("role", "assistant");
  if (!part.reasoning.empty())
    json.field("reasoning_content", part.reasoning);
  if (isPart)
    writeDelta(json, head, part);
  else
    writeMessage(json, head, part);
  json.endObject();
}

/// Writes the log-probabilities of an answer, or of a part of one; null if
/// there are none.
void OpenAiWriter::writeScores(JsonWriter &json, const ChoicePart &part,
                               bool isPart) const {
  json.key("logprobs");
  if (!part.scores || (isPart && part.scores->empty()))
    return json.null();
  ScoreWriter writer(json, request.scores, part.tokenizer,
                     request.sampling.temperature == 0);
  if (request.isChat)
    writer.writeChat(*part.scores);
  else
    writer.writeCompletion(*part.scores);
}

void OpenAiWriter::writePromptScores(JsonWriter &json,
                                     const ChoicePart &part) const {
  if (!part.promptScores)
    return;
  json.key("prompt_logprobs");
  ScoreWriter(json, request.scores, part.tokenizer, /*isGreedy=*/false)
      .writePrompt(*part.promptScores);
}

void OpenAiWriter::writePart(JsonWriter &json, const AnswerHead &head,
                             const ChoicePart &part, bool isPart) const {
  json.beginObject();
  json.field("index", part.index);
  writeContent(json, head, part, isPart);
  writeScores(json, part, isPart);
  writeTextOrNull(json, "finish_reason",
                  endsWithCalls(part) ? "tool_calls" : finishName(part.finish));
  // vLLM's member: null for the model's own end tokens.
  json.key("stop_reason");
  if (part.stopString)
    json.value(*part.stopString);
  else if (part.stopToken && part.isOwnStop)
    json.value(*part.stopToken);
  else
    json.null();
  if (!request.isChat)
    writePromptScores(json, part);
  if (part.promptIds)
    json.field("prompt_token_ids", *part.promptIds);
  if (part.ids)
    json.field("token_ids", *part.ids);
  if (part.rounds) {
    json.field("round_tokens", part.rounds->tokens);
    json.field("round_drafted", part.rounds->drafted);
  }
  json.endObject();
}

std::string OpenAiWriter::whole(const AnswerHead &head,
                                const std::vector<ChoicePart> &parts,
                                const Usage &usage) {
  Timings timings;
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/false);
  json.key("choices");
  json.beginArray();
  for (const ChoicePart &part : parts) {
    writePart(json, head, part, /*isPart=*/false);
    timings.add(part.timings.value_or(Timings()));
  }
  json.endArray();
  // All answers of a chat have one prompt, as in vLLM.
  if (request.isChat)
    writePromptScores(json, parts.front());
  writeUsage(json, usage, request.isChat);
  writeTimings(json, timings);
  json.endObject();
  return json.text();
}

/// Streams with usage have a null usage until their last event, unless the
/// request asks for the usage in each event.
std::string OpenAiWriter::events(const AnswerHead &head, const ChoicePart &part,
                                 const Usage &soFar) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/true);
  json.key("choices");
  json.beginArray();
  writePart(json, head, part, /*isPart=*/true);
  json.endArray();
  if (request.hasUsageInAll) {
    json.key("usage");
    json.beginObject();
    writeTokens(json, soFar);
    json.endObject();
  } else if (request.includesUsage) {
    json.key("usage");
    json.null();
  }
  if (part.timings)
    writeTimings(json, *part.timings);
  if (part.progress)
    writeProgress(json, *part.progress);
  json.endObject();
  return sseEvent(json.text());
}

std::string OpenAiWriter::lastEvents(const AnswerHead &head, const Usage &usage,
                                     const Timings &timings) {
  if (!request.includesUsage)
    return std::string(kLastEvent);
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/true);
  json.key("choices");
  json.beginArray();
  json.endArray();
  writeUsage(json, usage, request.isChat);
  writeTimings(json, timings);
  json.endObject();
  return sseEvent(json.text()).append(kLastEvent);
}

std::unique_ptr<AnswerWriter>
serve::makeOpenAiWriter(const GenerationRequest &request) {
  return std::make_unique<OpenAiWriter>(request);
}
