//===- Compare.cpp - Compare artifacts of one model -----------------------===//

#include "tools/mtp-tune/compare/Compare.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>

using namespace mtp;
using namespace mtp::tune;

/// Quantiles of Student's distribution for a 95 % interval, from one degree of
/// freedom on; beyond them the normal distribution's is near enough.
static constexpr double kStudent[] = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
static constexpr double kNormal = 1.96;

Interval tune::geometricMean(const std::vector<double> &values) {
  double sum = 0, squares = 0;
  auto count = double(values.size());
  for (double value : values)
    sum += std::log(value);
  double mean = sum / count;
  for (double value : values)
    squares += (std::log(value) - mean) * (std::log(value) - mean);
  double half = 0;
  if (values.size() > 1) {
    size_t freedom = values.size() - 1;
    double quantile =
        freedom <= std::size(kStudent) ? kStudent[freedom - 1] : kNormal;
    half = quantile * std::sqrt(squares / double(freedom) / count);
  }
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

Status tune::checkOneModel(const std::vector<NamedModel> &models) {
  const NamedModel &first = models.front();
  for (const NamedModel &other : models) {
    if (!other.model->envelope())
      return failedPrecondition(
          strCat(other.path,
                 ": expected an artifact that generates, got functions only"));
    uint32_t expected = first.model->envelope()->vocab,
             got = other.model->envelope()->vocab;
    if (expected != got)
      return failedPrecondition(
          strCat("expected artifacts of one model, got '", first.path, "' of ",
                 expected, " tokens and '", other.path, "' of ", got));
    if (!std::ranges::equal(first.model->tokenizer(), other.model->tokenizer()))
      return failedPrecondition(strCat("expected artifacts of one model, got '",
                                       first.path, "' and '", other.path,
                                       "' with different tokenizers"));
  }
  return okStatus();
}

namespace {
/// Sums over the turns of one artifact on one workload.
struct Tokens {
  uint64_t tokens = 0, rounds = 0;
};
} // namespace

static Request requestOf(const Workload &workload, uint32_t slot,
                         const EnvelopeInfo &envelope, uint32_t tokens,
                         uint32_t turn) {
  const std::vector<int32_t> &prompt =
      workload
          .prompts[(slot + turn * workload.slots) % workload.prompts.size()];
  Request request;
  // A long prompt leaves room for the text.
  size_t kept = std::min<size_t>(prompt.size(), envelope.maxContext / 2);
  request.prompt.assign(prompt.begin(), prompt.begin() + long(kept));
  request.maxTokens =
      std::min(tokens, envelope.maxContext - uint32_t(request.prompt.size()));
  request.ignoreEos = true;
  request.sampling.temperature = workload.temperature;
  request.sampling.seed = turn + 1;
  return request;
}

/// Runs one workload on one artifact.
static Status runOnce(const NamedModel &named, const Workload &workload,
                      const CompareOptions &options, uint32_t turn,
                      ComparedRun &run, Tokens &sums) {
  const EnvelopeInfo &envelope = *named.model->envelope();
  SessionOptions o = options.session;
  o.automaticK = true;
  o.maxSlots = std::min(workload.slots, envelope.maxBatch);
  o.prefixCache = false;
  o.chunksPerStep = SessionOptions::kUnbounded;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                       Session::create(named.model, o));
  for (uint32_t slot = 0; slot < workload.slots; ++slot)
    MTP_RETURN_IF_ERROR(
        session->add(requestOf(workload, slot, envelope, options.tokens, turn))
            .status());
  while (!session->idle())
    MTP_RETURN_IF_ERROR(session->step().status());
  const Statistics &s = session->statistics();
  if (s.decodeTokens == 0 || !(s.decodeSeconds > 0))
    return failedPrecondition(
        strCat(named.path, ": expected rounds after the prompts of '",
               workload.name, "', got none; give more --max-tokens"));
  run.rates.push_back(double(s.decodeTokens) / s.decodeSeconds);
  sums.tokens += s.roundTokens;
  sums.rounds += s.slotRounds;
  return okStatus();
}

/// Fills in means over the turns.
static void summarize(std::span<ComparedRun> runs) {
  for (ComparedRun &run : runs) {
    run.rate = geometricMean(run.rates);
    std::vector<double> ratios;
    for (size_t turn = 0; turn < run.rates.size(); ++turn)
      ratios.push_back(run.rates[turn] / runs.front().rates[turn]);
    run.ratio = geometricMean(ratios);
  }
}

Result<std::vector<ComparedRun>>
tune::compareModels(const std::vector<NamedModel> &models,
                    const std::vector<Workload> &workloads,
                    const CompareOptions &options) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  std::vector<ComparedRun> runs;
  for (const Workload &workload : workloads)
    for (const NamedModel &named : models)
      runs.push_back(
          {named.path, workload.name, workload.slots, {}, 1, {}, {}});
  std::vector<Tokens> sums(runs.size());
  size_t count = models.size();
  for (uint32_t turn = 0; turn < options.turns; ++turn) {
    double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (turn >= kLeastTurns && seconds > options.minutes * 60)
      break;
    for (size_t w = 0; w < workloads.size(); ++w)
      for (size_t i = 0; i < count; ++i) {
        size_t m = turn % 2 ? count - 1 - i : i;
        MTP_RETURN_IF_ERROR(runOnce(models[m], workloads[w], options, turn,
                                    runs[w * count + m], sums[w * count + m]));
      }
    if (options.progress)
      std::fprintf(stderr, "%5.1f s: turn %u of %u\n", seconds, turn + 1,
                   options.turns);
  }
  for (size_t i = 0; i < runs.size(); ++i)
    runs[i].length =
        double(sums[i].tokens) / double(std::max<uint64_t>(sums[i].rounds, 1));
  for (size_t w = 0; w < workloads.size(); ++w)
    summarize(std::span(runs).subspan(w * count, count));
  return runs;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

std::string tune::comparisonText(const std::vector<ComparedRun> &runs) {
  size_t widest = 8;
  for (const ComparedRun &run : runs)
    widest = std::max(widest, run.artifact.size());
  std::string text;
  std::string_view workload;
  for (const ComparedRun &run : runs) {
    if (run.workload != workload)
      text += strCat(run.workload, ", slots ", run.slots, ", turns ",
                     run.rates.size(), "\n");
    workload = run.workload;
    char line[200];
    std::snprintf(line, sizeof(line),
                  "%9.1f tokens/s (%.1f to %.1f), AL %.2f, %.3f of the first "
                  "(%.3f to %.3f)\n",
                  run.rate.mean, run.rate.lower, run.rate.upper, run.length,
                  run.ratio.mean, run.ratio.lower, run.ratio.upper);
    text += strCat("  ", run.artifact,
                   std::string(widest - run.artifact.size(), ' '), line);
  }
  return text;
}

static void writeInterval(JsonWriter &json, const char *name,
                          const Interval &of) {
  json.key(name);
  json.beginObject();
  json.field("mean", of.mean);
  json.field("lower", of.lower);
  json.field("upper", of.upper);
  json.endObject();
}

std::string tune::comparisonJson(const std::vector<ComparedRun> &runs) {
  JsonWriter json;
  json.beginObject();
  json.key("runs");
  json.beginArray();
  for (const ComparedRun &run : runs) {
    json.beginObject();
    json.field("artifact", run.artifact);
    json.field("workload", run.workload);
    json.field("slots", run.slots);
    json.field("turns", run.rates.size());
    json.field("acceptance_length", run.length);
    writeInterval(json, "tokens_per_second", run.rate);
    writeInterval(json, "ratio", run.ratio);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}
