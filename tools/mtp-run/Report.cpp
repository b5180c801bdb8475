//===- Report.cpp - Numbers of a run --------------------------------------===//

#include "tools/mtp-run/Report.h"
#include "tools/support/Json.h"

#include <cstdio>

using namespace mtp;

static const char *finishName(FinishReason reason) {
  switch (reason) {
  case FinishReason::None:
    return "none";
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    return "cancelled";
  case FinishReason::Failed:
    return "failed";
  }
  return "unknown";
}

/// Share of accepted drafts at a position; NaN when none was made.
static double rate(const Statistics &s, size_t position) {
  return double(s.accepted[position]) / double(s.drafted[position]);
}

static double acceptanceLength(const Statistics &s) {
  return double(s.roundTokens) / double(s.slotRounds);
}

static void writeAcceptance(JsonWriter &json, const Statistics &s) {
  json.field("drafted", s.drafted);
  json.field("accepted", s.accepted);
  json.key("acceptance");
  json.beginArray();
  for (size_t i = 0; i < s.drafted.size(); ++i)
    json.value(rate(s, i));
  json.endArray();
  json.field("slot_rounds", s.slotRounds);
  json.field("round_tokens", s.roundTokens);
  json.field("acceptance_length", acceptanceLength(s));
}

static void writeSequence(JsonWriter &json, const Session &session,
                          const SequenceReport &report) {
  Statistics s = session.statistics(report.id).value();
  std::span<const int32_t> output = session.output(report.id).value();
  json.beginObject();
  json.field("prompt_tokens", report.promptTokens);
  json.field("output_ids", std::vector<int32_t>(output.begin(), output.end()));
  json.field("text", report.text);
  json.field("finish", finishName(session.finishReason(report.id).value()));
  if (!report.error.isOk())
    json.field("error", report.error.message());
  json.field("rounds", s.rounds);
  json.field("cached_tokens", s.cachedTokens);
  json.field("preemptions", s.preemptions);
  writeAcceptance(json, s);
  json.endObject();
}

std::string mtp::jsonReport(const Session &session,
                            const std::vector<SequenceReport> &reports) {
  const Statistics &s = session.statistics();
  JsonWriter json;
  json.beginObject();
  json.field("model", session.model()->name());
  json.field("k", session.options().k);
  json.key("sequences");
  json.beginArray();
  for (const SequenceReport &report : reports)
    writeSequence(json, session, report);
  json.endArray();
  json.field("rounds", s.rounds);
  json.field("output_tokens", s.outputTokens);
  json.field("preemptions", s.preemptions);
  writeAcceptance(json, s);
  json.key("prefill");
  json.beginObject();
  json.field("tokens", s.prefillTokens);
  json.field("cached_tokens", s.cachedTokens);
  json.field("chunks", s.prefillChunks);
  json.field("seconds", s.prefillSeconds);
  json.field("tokens_per_second", double(s.prefillTokens) / s.prefillSeconds);
  json.endObject();
  json.key("decode");
  json.beginObject();
  json.field("tokens", s.decodeTokens);
  json.field("seconds", s.decodeSeconds);
  json.field("tokens_per_second", double(s.decodeTokens) / s.decodeSeconds);
  json.field("seconds_per_round", s.decodeSeconds / double(s.rounds));
  json.endObject();
  json.field("memory_bytes", session.memoryBytes());
  json.endObject();
  return json.text();
}

std::string mtp::textReport(const Session &session) {
  const Statistics &s = session.statistics();
  char line[256];
  std::string text;
  std::snprintf(line, sizeof(line),
                "prefill: %llu tokens (%llu cached) in %.3f s, %.1f tokens/s\n",
                (unsigned long long)s.prefillTokens,
                (unsigned long long)s.cachedTokens, s.prefillSeconds,
                double(s.prefillTokens) / s.prefillSeconds);
  text += line;
  std::snprintf(line, sizeof(line),
                "decode: %llu tokens in %llu rounds, %.3f s, %.1f tokens/s, "
                "acceptance length %.2f\n",
                (unsigned long long)s.decodeTokens,
                (unsigned long long)s.rounds, s.decodeSeconds,
                double(s.decodeTokens) / s.decodeSeconds, acceptanceLength(s));
  text += line;
  for (size_t i = 0; i < s.drafted.size(); ++i) {
    std::snprintf(line, sizeof(line), "draft %zu: accepted %.1f %%\n", i + 1,
                  100 * rate(s, i));
    text += line;
  }
  return text;
}
