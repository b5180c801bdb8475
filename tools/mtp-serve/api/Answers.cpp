//===- Answers.cpp - Parts of answers -------------------------------------===//

#include "tools/mtp-serve/api/Answers.h"

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

void Timings::add(const Timings &other) {
  cachedTokens += other.cachedTokens;
  promptTokens += other.promptTokens;
  outputTokens += other.outputTokens;
  promptSeconds = std::max(promptSeconds, other.promptSeconds);
  outputSeconds = std::max(outputSeconds, other.outputSeconds);
  drafted += other.drafted;
  accepted += other.accepted;
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

uint64_t serve::sumOf(const std::vector<uint64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

/// Writes llama-server's four members about `tokens` that took `seconds`.
static void writeSpeed(JsonWriter &json, const std::string &name,
                       uint64_t tokens, double seconds) {
  json.field(name + "_n", tokens);
  json.field(name + "_ms", seconds * 1000);
  json.field(name + "_per_token_ms",
             tokens > 0 ? seconds * 1000 / double(tokens) : 0);
  json.field(name + "_per_second", seconds > 0 ? double(tokens) / seconds : 0);
}

void serve::writeTimings(JsonWriter &json, const Timings &timings) {
  json.key("timings");
  json.beginObject();
  json.field("cache_n", timings.cachedTokens);
  writeSpeed(json, "prompt", timings.promptTokens, timings.promptSeconds);
  writeSpeed(json, "predicted", timings.outputTokens, timings.outputSeconds);
  if (timings.drafted > 0) {
    json.field("draft_n", timings.drafted);
    json.field("draft_n_accepted", timings.accepted);
  }
  json.endObject();
}

void serve::writeProgress(JsonWriter &json, const PromptProgress &progress) {
  json.key("prompt_progress");
  json.beginObject();
  json.field("total", progress.total);
  json.field("cache", progress.cached);
  json.field("processed", progress.processed);
  json.field("time_ms", progress.seconds * 1000);
  json.endObject();
}
