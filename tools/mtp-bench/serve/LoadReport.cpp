//===- LoadReport.cpp - Results of a load test ----------------------------===//

#include "tools/mtp-bench/serve/LoadReport.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-bench/measure/Statistics.h"
#include "tools/mtp-bench/report/Format.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::bench;

static Spread spreadOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {quantile(seconds, 0.5), quantile(seconds, 0.9),
          quantile(seconds, 0.99), quantile(seconds, 1)};
}

LoadSummary bench::summarize(const LoadResult &result) {
  LoadSummary s;
  std::vector<double> first, between, perToken, whole;
  for (const RequestRecord &r : result.records) {
    if (!r.error.empty()) {
      ++s.errors[r.error];
      continue;
    }
    ++s.answered;
    s.promptTokens += r.promptTokens;
    s.cachedTokens += r.cachedTokens;
    s.outputTokens += r.outputTokens;
    first.push_back(r.first - r.due);
    whole.push_back(r.last - r.due);
    between.insert(between.end(), r.gaps.begin(), r.gaps.end());
    if (r.outputTokens > 1)
      perToken.push_back((r.last - r.first) / double(r.outputTokens - 1));
  }
  s.firstToken = spreadOf(std::move(first));
  s.between = spreadOf(std::move(between));
  s.perToken = spreadOf(std::move(perToken));
  s.whole = spreadOf(std::move(whole));
  if (result.seconds > 0) {
    s.tokensPerSecond = double(s.outputTokens) / result.seconds;
    s.requestsPerSecond = double(s.answered) / result.seconds;
    s.generatorShare = result.cpuSeconds / result.seconds;
  }
  return s;
}

static std::string rangeText(Range range) {
  if (range.least == range.most)
    return std::to_string(range.least);
  return strCat(range.least, " to ", range.most);
}

static std::string line(const char *name, const Spread &spread) {
  std::string text = name;
  text.resize(20, ' ');
  for (double seconds : {spread.p50, spread.p90, spread.p99, spread.most})
    text +=
        std::isnan(seconds) ? "         -" : format("%10.2f", seconds * 1e3);
  return text + "\n";
}

std::string bench::loadText(const LoadSummary &s, const LoadResult &result,
                            const TrafficOptions &o) {
  std::string text = o.rate > 0
                         ? format("open loop, %.6g requests/s", o.rate)
                         : strCat("closed loop, ", o.clients, " clients");
  std::string prompts =
      o.prompts.empty()
          ? strCat("prompts of ", rangeText(o.promptTokens), " ids")
          : strCat(o.prompts.size(), " prompts");
  text = strCat(o.url, ": ", text, ", ", prompts, ", answers of ",
                rangeText(o.outputTokens), " tokens\n");
  text += strCat(s.answered, " of ", result.records.size(), " requests in ",
                 format("%.2f", result.seconds),
                 " s: ", format("%.1f", s.tokensPerSecond), " tokens/s, ",
                 format("%.2f", s.requestsPerSecond), " requests/s\n");
  text += strCat("tokens: ", s.promptTokens, " of prompts (", s.cachedTokens,
                 " cached), ", s.outputTokens, " of answers\n\n");
  text += "ms                         p50       p90       p99      most\n";
  text += line("first token", s.firstToken);
  text += line("between events", s.between);
  text += line("per token", s.perToken);
  text += line("request", s.whole);
  text += strCat("\ngenerator: ", format("%.1f", s.generatorShare * 100),
                 " % of a processor\n");
  for (const auto &[error, count] : s.errors)
    text += strCat("failed, ", count, ": ", error, "\n");
  return text;
}

static void addSpread(JsonWriter &json, const char *name, const Spread &s) {
  json.key(name);
  json.beginObject();
  json.field("p50", s.p50);
  json.field("p90", s.p90);
  json.field("p99", s.p99);
  json.field("most", s.most);
  json.endObject();
}

static void addRange(JsonWriter &json, const char *name, Range range) {
  json.field(name, std::vector<uint32_t>{range.least, range.most});
}

static void addLoad(JsonWriter &json, const TrafficOptions &o) {
  json.field("url", o.url);
  json.field("loop", o.rate > 0 ? "open" : "closed");
  if (o.rate > 0)
    json.field("rate", o.rate);
  else
    json.field("clients", o.clients);
  if (o.prompts.empty())
    addRange(json, "prompt_ids", o.promptTokens);
  else
    json.field("prompts", o.prompts.size());
  addRange(json, "max_tokens", o.outputTokens);
  json.field("seed", o.seed);
}

std::string bench::loadJson(const LoadSummary &s, const LoadResult &result,
                            const TrafficOptions &o) {
  JsonWriter json;
  json.beginObject();
  addLoad(json, o);
  json.field("requests", result.records.size());
  json.field("answered", s.answered);
  json.key("errors");
  json.beginObject();
  for (const auto &[error, count] : s.errors)
    json.field(error, count);
  json.endObject();
  json.field("seconds", result.seconds);
  json.field("prompt_tokens", s.promptTokens);
  json.field("cached_tokens", s.cachedTokens);
  json.field("output_tokens", s.outputTokens);
  json.field("tokens_per_second", s.tokensPerSecond);
  json.field("requests_per_second", s.requestsPerSecond);
  addSpread(json, "first_token_seconds", s.firstToken);
  addSpread(json, "between_events_seconds", s.between);
  addSpread(json, "per_token_seconds", s.perToken);
  addSpread(json, "request_seconds", s.whole);
  json.field("generator_share", s.generatorShare);
  json.endObject();
  return json.text() + "\n";
}
