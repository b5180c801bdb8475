//===- Report.cpp - Statistics of a run -----------------------------------===//

#include "tools/mtp-run/Report.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-run/tensors/TensorLiteral.h"

#include <charconv>
#include <cmath>
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

/// Returns the share of accepted drafts at a position; NaN without drafts.
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
  json.field("round_rows", s.roundRows);
  json.field("round_tokens", s.roundTokens);
  json.field("acceptance_length", acceptanceLength(s));
}

static void writeOutputs(JsonWriter &json,
                         const std::vector<OutputRows> &outputs) {
  if (outputs.empty())
    return;
  json.key("outputs");
  json.beginArray();
  for (const OutputRows &output : outputs) {
    json.beginObject();
    json.field("name", output.name);
    json.field("type", toString(output.rows.type));
    json.key("rows");
    json.raw(tensorJson(output.rows));
    if (!output.tokens.empty())
      json.field("tokens", output.tokens);
    json.endObject();
  }
  json.endArray();
}

static void writeRounds(JsonWriter &json,
                        const std::vector<DraftRound> &rounds) {
  json.key("draft_rounds");
  json.beginArray();
  for (const DraftRound &round : rounds) {
    json.beginObject();
    json.field("drafts", round.drafts.tokens);
    if (!round.drafts.parents.empty())
      json.field("parents", round.drafts.parents);
    json.field("tokens", round.tokens);
    json.endObject();
  }
  json.endArray();
}

/// Writes a token and the shortest text that is read as its logarithm. An
/// infinity becomes null.
static void writeLogprob(JsonWriter &json, const TokenLogprob &one) {
  json.field("token", one.token);
  json.key("logprob");
  if (!std::isfinite(one.logprob))
    return json.null();
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), one.logprob);
  json.raw({text, size_t(end.ptr - text)});
}

static void writeLogprobs(JsonWriter &json, std::string_view name,
                          const std::vector<TokenLogprobs> &tokens) {
  json.key(name);
  json.beginArray();
  for (const TokenLogprobs &token : tokens) {
    json.beginObject();
    writeLogprob(json, token.own);
    json.field("rank", token.rank);
    json.key("likeliest");
    json.beginArray();
    for (const TokenLogprob &likely : token.likeliest) {
      json.beginObject();
      writeLogprob(json, likely);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

static Status writeSequence(JsonWriter &json, const Session &session,
                            const RunReport &run,
                            const SequenceReport &report) {
  MTP_ASSIGN_OR_RETURN(Statistics s, session.statistics(report.id));
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> output,
                       session.output(report.id));
  MTP_ASSIGN_OR_RETURN(FinishReason finish, session.finishReason(report.id));
  json.beginObject();
  json.field("index", report.index);
  json.field("source", report.source);
  json.field("prompt_tokens", report.promptTokens);
  json.field("output_ids", std::vector<int32_t>(output.begin(), output.end()));
  json.key("text");
  if (report.text)
    json.value(*report.text);
  else
    json.null();
  json.field("finish", finishName(finish));
  if (!report.error.isOk())
    json.field("error", report.error.message());
  json.field("rounds", s.rounds);
  json.field("rounds_by_k", s.roundsByK);
  json.field("cached_tokens", s.cachedTokens);
  json.field("preemptions", s.preemptions);
  json.field("restored_preemptions", s.restoredPreemptions);
  writeAcceptance(json, s);
  writeOutputs(json, report.outputs);
  if (run.logprobs.output)
    writeLogprobs(json, "logprobs", report.logprobs);
  if (run.logprobs.prompt)
    writeLogprobs(json, "prompt_logprobs", report.promptLogprobs);
  if (run.hasRounds)
    writeRounds(json, report.rounds);
  json.endObject();
  return okStatus();
}

static void writeSampling(JsonWriter &json, const RunReport &report) {
  json.key("sampling");
  json.beginObject();
  json.field("temperature", report.sampling.temperature);
  json.field("top_k", report.sampling.topK);
  json.field("top_p", report.sampling.topP);
  json.field("min_p", report.sampling.minP);
  json.field("seed", report.sampling.seed);
  json.field("from_model", report.samplingIsModels);
  json.endObject();
}

static Status writeSequences(JsonWriter &json, const Session &session,
                             const RunReport &report) {
  json.key("sequences");
  json.beginArray();
  for (const SequenceReport &sequence : report.sequences)
    MTP_RETURN_IF_ERROR(writeSequence(json, session, report, sequence));
  json.endArray();
  return okStatus();
}

Result<std::string> mtp::jsonReport(const Session &session,
                                    const RunReport &report) {
  const Statistics &s = session.statistics();
  JsonWriter json;
  json.beginObject();
  json.field("model", report.model);
  json.field("k", session.options().k);
  json.field("automatic_k", session.options().automaticK);
  writeSampling(json, report);
  MTP_RETURN_IF_ERROR(writeSequences(json, session, report));
  json.field("rounds", s.rounds);
  json.field("rounds_by_k", s.roundsByK);
  json.field("output_tokens", s.outputTokens);
  json.field("preemptions", s.preemptions);
  json.field("caught_up_tokens", s.caughtUpTokens);
  json.key("snapshots");
  json.beginObject();
  json.field("stored", s.snapshots);
  json.field("dropped", s.droppedSnapshots);
  json.field("bytes", s.snapshotBytes);
  json.field("restored", s.restoredSnapshots);
  json.field("restored_preemptions", s.restoredPreemptions);
  json.endObject();
  writeAcceptance(json, s);
  json.key("prefill");
  json.beginObject();
  json.field("tokens", s.prefillTokens);
  json.field("cached_tokens", s.cachedTokens);
  json.field("chunks", s.prefillChunks);
  json.field("library_tokens", s.libraryTokens);
  json.field("mixed_tokens", s.mixedTokens);
  json.field("kernels", session.promptKernels());
  json.field("seconds", s.prefillSeconds);
  json.field("tokens_per_second", double(s.prefillTokens) / s.prefillSeconds);
  json.endObject();
  json.key("decode");
  json.beginObject();
  json.field("tokens", s.decodeTokens);
  json.field("seconds", s.decodeSeconds);
  json.field("tokens_per_second", double(s.decodeTokens) / s.decodeSeconds);
  json.field("seconds_per_round", s.decodeSeconds / double(s.rounds));
  json.field("padded_rounds", s.paddedRounds);
  json.field("padding_slots", s.paddingSlots);
  json.endObject();
  json.field("memory_bytes", session.memoryBytes());
  json.endObject();
  return json.text();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns a token's text in quotes, or its id.
static std::string tokenText(int32_t token, const Tokenizer *tokenizer) {
  DecodeOptions decode;
  decode.skipSpecial = decode.atTextStart = false;
  if (tokenizer)
    if (Result<std::string> text = tokenizer->decode({{token}}, decode)) {
      JsonWriter quoted(JsonWriter::Layout::OneLine);
      quoted.value(*text);
      return quoted.text();
    }
  return std::to_string(token);
}

static std::string logprobText(const TokenLogprob &one,
                               const Tokenizer *tokenizer) {
  char number[32];
  std::snprintf(number, sizeof(number), " %.4f", double(one.logprob));
  return tokenText(one.token, tokenizer) + number;
}

/// Returns lines with a token, its rank, and the likeliest tokens.
static std::string linesOf(const std::vector<TokenLogprobs> &tokens,
                           const Tokenizer *tokenizer) {
  std::string lines;
  for (const TokenLogprobs &token : tokens) {
    lines += logprobText(token.own, tokenizer) + ", rank " +
             std::to_string(token.rank);
    for (const TokenLogprob &likely : token.likeliest)
      lines += (&likely == token.likeliest.data() ? ": " : ", ") +
               logprobText(likely, tokenizer);
    lines += "\n";
  }
  return lines;
}

std::string mtp::logprobsText(const RunReport &report,
                              const Tokenizer *tokenizer) {
  std::string text;
  for (const SequenceReport &sequence : report.sequences) {
    std::string index = std::to_string(sequence.index);
    if (report.logprobs.prompt)
      text += "--- log-probabilities of prompt " + index + "\n" +
              linesOf(sequence.promptLogprobs, tokenizer);
    if (report.logprobs.output)
      text += "--- log-probabilities of the output of prompt " + index + "\n" +
              linesOf(sequence.logprobs, tokenizer);
  }
  return text;
}

static std::string samplingText(const RunReport &report) {
  const SamplingParams &p = report.sampling;
  std::string from = report.samplingIsModels ? " (the model's own)" : "";
  if (p.temperature == 0)
    return "sampling: greedy" + from + "\n";
  char line[256];
  std::snprintf(line, sizeof(line), "sampling: temperature %g", p.temperature);
  std::string text = line;
  if (p.topK > 0)
    text += ", top-k " + std::to_string(p.topK);
  std::snprintf(line, sizeof(line), ", top-p %g", p.topP);
  text += p.topP < 1 ? line : "";
  std::snprintf(line, sizeof(line), ", min-p %g", p.minP);
  text += p.minP > 0 ? line : "";
  return text + ", seed " + std::to_string(p.seed) + from + "\n";
}

/// Returns the number of rounds per k, if k is chosen automatically.
static std::string roundsText(const Session &session) {
  if (!session.options().automaticK)
    return "";
  std::string text;
  const std::vector<uint64_t> &rounds = session.statistics().roundsByK;
  for (size_t k = 0; k < rounds.size(); ++k)
    if (rounds[k] > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(rounds[k]) +
              " of k = " + std::to_string(k);
  return "rounds: " + text + "\n";
}

/// Returns statistics of copies of recurrent states, if there were any.
static std::string snapshotsText(const Statistics &s) {
  if (s.snapshots == 0)
    return "";
  char line[256];
  std::snprintf(
      line, sizeof(line),
      "snapshots: %llu stored, %llu dropped, %.1f MB held, %llu "
      "restored, %llu of them after preemptions\n",
      (unsigned long long)s.snapshots, (unsigned long long)s.droppedSnapshots,
      double(s.snapshotBytes) / 1e6, (unsigned long long)s.restoredSnapshots,
      (unsigned long long)s.restoredPreemptions);
  return line;
}

std::string mtp::textReport(const Session &session, const RunReport &report) {
  const Statistics &s = session.statistics();
  char line[256];
  std::string text;
  // The prefix cache may hold the whole prompt, and the prefill may give the
  // only token.
  std::snprintf(line, sizeof(line), "prefill: %llu tokens (%llu cached)",
                (unsigned long long)s.prefillTokens,
                (unsigned long long)s.cachedTokens);
  text += line;
  if (s.prefillTokens > 0)
    std::snprintf(line, sizeof(line), " in %.3f s, %.1f tokens/s\n",
                  s.prefillSeconds, double(s.prefillTokens) / s.prefillSeconds);
  text += s.prefillTokens > 0 ? line : "\n";
  // Printed only if a library could have been used.
  if (session.promptKernels() != "own kernels")
    text += "prompts: " + session.promptKernels() + "\n";
  text += snapshotsText(s);
  if (s.rounds == 0)
    return text + "decode: 0 tokens in no round, prefill gives the first\n" +
           samplingText(report);
  std::snprintf(line, sizeof(line),
                "decode: %llu tokens in %llu rounds, %.3f s, %.1f tokens/s, "
                "acceptance length %.2f\n",
                (unsigned long long)s.decodeTokens,
                (unsigned long long)s.rounds, s.decodeSeconds,
                double(s.decodeTokens) / s.decodeSeconds, acceptanceLength(s));
  text += line + roundsText(session);
  if (s.roundRows < s.roundCapacity) {
    std::snprintf(line, sizeof(line),
                  "rows: %llu active of %llu, the others were not computed\n",
                  (unsigned long long)s.roundRows,
                  (unsigned long long)s.roundCapacity);
    text += line;
  }
  for (size_t i = 0; i < s.drafted.size(); ++i) {
    if (s.drafted[i] > 0)
      std::snprintf(line, sizeof(line), "draft %zu: accepted %.1f %%\n", i + 1,
                    100 * rate(s, i));
    else
      std::snprintf(line, sizeof(line), "draft %zu: never made\n", i + 1);
    text += line;
  }
  return text + samplingText(report);
}
