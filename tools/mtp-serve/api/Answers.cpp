//===- Answers.cpp - Answers as JSON --------------------------------------===//

#include "tools/mtp-serve/api/Answers.h"
#include "runtime/json/JsonWriter.h"

#include <algorithm>
#include <numeric>

using namespace mtp;
using namespace mtp::serve;

static void addTo(std::vector<uint64_t> &sums,
                  const std::vector<uint64_t> &more) {
  sums.resize(std::max(sums.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i)
    sums[i] += more[i];
}

void Usage::addRounds(const Statistics &statistics) {
  rounds += statistics.slotRounds;
  addTo(drafted, statistics.drafted);
  addTo(accepted, statistics.accepted);
}

std::string serve::finishName(FinishReason reason) {
  switch (reason) {
  case FinishReason::None:
    return "";
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    return "abort";
  case FinishReason::Failed:
    return "error";
  }
  return "";
}

static uint64_t sum(const std::vector<uint64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

static void writeTokens(JsonWriter &json, const Usage &usage) {
  json.field("prompt_tokens", usage.promptTokens);
  json.field("completion_tokens", usage.outputTokens);
  json.field("total_tokens", usage.promptTokens + usage.outputTokens);
}

static void writeUsage(JsonWriter &json, const Usage &usage) {
  json.key("usage");
  json.beginObject();
  writeTokens(json, usage);
  json.key("prompt_tokens_details");
  json.beginObject();
  json.field("cached_tokens", usage.cachedTokens);
  json.endObject();
  json.key("speculation");
  json.beginObject();
  json.field("rounds", usage.rounds);
  json.field("drafted_tokens", sum(usage.drafted));
  json.field("accepted_tokens", sum(usage.accepted));
  json.field("drafted_by_position", usage.drafted);
  json.field("accepted_by_position", usage.accepted);
  json.endObject();
  json.endObject();
}

static void writeHead(JsonWriter &json, const AnswerHead &head, bool isPart) {
  json.field("id", head.id);
  if (head.isChat)
    json.field("object", isPart ? "chat.completion.chunk" : "chat.completion");
  else
    json.field("object", "text_completion");
  json.field("created", head.created);
  json.field("model", head.model);
}

/// Writes the text of an answer, or of a part of one.
static void writeContent(JsonWriter &json, const AnswerHead &head,
                         const ChoicePart &part, bool isPart) {
  if (!head.isChat)
    return json.field("text", part.text);
  json.key(isPart ? "delta" : "message");
  json.beginObject();
  if (!isPart || part.isFirst)
    json.field("role", "assistant");
  if (!part.reasoning.empty())
    json.field("reasoning_content", part.reasoning);
  if (!isPart || part.isFirst || !part.text.empty())
    json.field("content", part.text);
  json.endObject();
}

static void writePart(JsonWriter &json, const AnswerHead &head,
                      const ChoicePart &part, bool isPart) {
  json.beginObject();
  json.field("index", part.index);
  writeContent(json, head, part, isPart);
  json.key("logprobs");
  json.null();
  json.key("finish_reason");
  if (part.finish.empty())
    json.null();
  else
    json.value(part.finish);
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

std::string serve::wholeAnswer(const AnswerHead &head,
                               const std::vector<ChoicePart> &parts,
                               const Usage &usage) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/false);
  json.key("choices");
  json.beginArray();
  for (const ChoicePart &part : parts)
    writePart(json, head, part, /*isPart=*/false);
  json.endArray();
  writeUsage(json, usage);
  json.endObject();
  return json.text();
}

std::string serve::streamPart(const AnswerHead &head, const ChoicePart &part,
                              bool hasUsage,
                              const std::optional<Usage> &soFar) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/true);
  json.key("choices");
  json.beginArray();
  writePart(json, head, part, /*isPart=*/true);
  json.endArray();
  if (soFar) {
    json.key("usage");
    json.beginObject();
    writeTokens(json, *soFar);
    json.endObject();
  } else if (hasUsage) {
    json.key("usage");
    json.null();
  }
  json.endObject();
  return json.text();
}

std::string serve::streamUsage(const AnswerHead &head, const Usage &usage) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  writeHead(json, head, /*isPart=*/true);
  json.key("choices");
  json.beginArray();
  json.endArray();
  writeUsage(json, usage);
  json.endObject();
  return json.text();
}
