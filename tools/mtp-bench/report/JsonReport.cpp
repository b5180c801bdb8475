//===- JsonReport.cpp - Results as JSON -----------------------------------===//

#include "runtime/json/JsonWriter.h"
#include "tools/mtp-bench/report/Reports.h"

using namespace mtp;
using namespace mtp::bench;

/// Adds an array with one element per line.
static void addNumbers(JsonWriter &json, std::string_view name,
                       const std::vector<double> &values) {
  json.key(name);
  json.beginArray();
  for (double value : values)
    json.value(value);
  json.endArray();
}

static void addRates(JsonWriter &json, std::string_view name, const Rates &r) {
  json.key(name);
  json.beginObject();
  json.field("bytes_per_second", r.bytes);
  json.field("f32_ops_per_second", r.ops[size_t(Arithmetic::F32)]);
  json.field("bf16_ops_per_second", r.ops[size_t(Arithmetic::BF16)]);
  json.field("int8_ops_per_second", r.ops[size_t(Arithmetic::I8)]);
  json.field("int4_ops_per_second", r.ops[size_t(Arithmetic::I4)]);
  json.endObject();
}

static void addSummary(JsonWriter &json, const std::vector<double> &seconds,
                       Estimate estimate) {
  Summary s = summarize(seconds);
  json.field("seconds", estimateSeconds(seconds, estimate));
  json.field("lower_quartile", s.lower);
  json.field("upper_quartile", s.upper);
}

static void addGroups(JsonWriter &json, std::string_view name,
                      const std::vector<Group> &groups) {
  json.key(name);
  json.beginArray();
  for (const Group &g : groups) {
    json.beginObject();
    json.field("name", g.name);
    json.field("commands", g.commands);
    json.field("seconds", g.wall);
    json.field("busy_seconds", g.busy);
    json.field("wait_seconds", g.wait);
    json.field("bytes", g.bytes);
    json.field("ops", g.ops);
    json.field("limit_seconds", g.limit);
    json.endObject();
  }
  json.endArray();
}

static void addPoint(JsonWriter &json, const Point &p, const Results &r,
                     Estimate estimate) {
  json.beginObject();
  json.field("batch", p.batch);
  json.field("k", p.k);
  json.field("context", p.context);
  json.field("rows", p.rows());
  json.field("live_rows", p.activeRows);
  json.field("rounds", p.rounds);
  json.field("fastest_came_again", p.isSettled());
  addSummary(json, p.seconds, estimate);
  json.field("target_seconds", estimateSeconds(p.targetSeconds, estimate));
  json.field("bytes", p.bytes(false));
  json.field("bound_weight_bytes", p.boundBytes);
  json.field("ops", p.ops(false));
  json.field("limit_seconds", p.limit(r.rates, false));
  json.field("target_limit_seconds", p.limit(r.rates, true));
  json.field("expects_experts", p.hasExperts);
  addGroups(json, "phases", groupByPhase(p, r.rates));
  addGroups(json, "kernels", groupByKind(p, r.rates));
  json.endObject();
}

static void addSpeculative(JsonWriter &json, const SpeculativeResult &s) {
  json.beginObject();
  json.field("batch", s.batch);
  json.field("context", s.context);
  json.field("k", s.k);
  json.field("seconds_per_round", s.seconds);
  json.field("lower_quartile", s.spread.lower);
  json.field("upper_quartile", s.spread.upper);
  json.field("r", s.ratio);
  json.field("r_at_limit", s.limitRatio);
  json.field("acceptance_length", s.acceptanceLength);
  addNumbers(json, "acceptance", s.accepted);
  json.field("tokens_per_second", s.tokensPerSecond);
  json.field("speedup", s.speedup);
  json.endObject();
}

static void addSession(JsonWriter &json, const SessionResult &s) {
  json.beginObject();
  json.field("batch", s.batch);
  json.key("k");
  if (s.isAutomatic)
    json.value("auto");
  else
    json.value(s.k);
  Summary of = summarize(s.tokensPerSecond);
  json.field("tokens_per_second", of.median);
  json.field("lower_quartile", of.lower);
  json.field("upper_quartile", of.upper);
  json.field("rounds_by_k", s.rounds);
  json.field("padded_rounds", s.paddedRounds);
  json.endObject();
}

static void addMachine(JsonWriter &json, const Results &r, const Options &o) {
  json.key("machine");
  json.beginObject();
  json.field("processor", r.processor);
  json.field("features", r.features);
  json.field("processors", r.processors);
  json.field("threads", r.threads);
  json.field("pinned", r.pinned);
  json.field("cache_bytes", r.cacheBytes);
  json.field("buffer_bytes", r.bufferBytes);
  addRates(json, "before", r.machine.front().best(o.estimate));
  addRates(json, nameOf(o.estimate), r.rates);
  addRates(json, "after", r.machine.back().best(o.estimate));
  json.field("too_noisy_to_tell", r.isNoisy);
  json.endObject();
}

static void addSnapshot(JsonWriter &json, const Results &r, Estimate estimate) {
  if (r.snapshotSeconds.empty())
    return;
  json.key("snapshot");
  json.beginObject();
  json.field("bytes", r.snapshotBytes);
  addSummary(json, r.snapshotSeconds, estimate);
  json.endObject();
}

std::string bench::jsonReport(const Results &r, const Options &o) {
  JsonWriter json;
  json.beginObject();
  json.field("model", r.model);
  json.field("producer", r.producer);
  json.field("date", r.date);
  json.field("weight_formats", r.formats);
  json.field("weight_bytes", r.fileWeightBytes);
  addMachine(json, r, o);
  json.field("turns", o.turns);
  json.field("estimate", nameOf(o.estimate));
  json.field("seed", o.seed);
  json.field("temperature", o.temperature);
  addNumbers(json, "simulated_acceptance", o.acceptance);
  json.field("batches", o.batches);
  json.field("contexts", o.contexts);
  json.field("ks", o.ks);
  json.key("points");
  json.beginArray();
  for (const Point &point : r.points)
    addPoint(json, point, r, o.estimate);
  json.endArray();
  json.field("prefill_kernels", r.prefillKernels);
  json.field("prefill_behind", o.prefillBehind);
  json.key("prefill");
  json.beginArray();
  for (const PrefillResult &p : r.prefills) {
    json.beginObject();
    json.field("tokens", p.tokens);
    json.field("drafter", p.modules);
    addSummary(json, p.seconds, o.estimate);
    json.field("tokens_per_second",
               p.tokens / estimateSeconds(p.seconds, o.estimate));
    json.endObject();
  }
  json.endArray();
  addSnapshot(json, r, o.estimate);
  json.key("speculative");
  json.beginArray();
  for (const SpeculativeResult &s : r.speculative)
    addSpeculative(json, s);
  json.endArray();
  json.key("sessions");
  json.beginArray();
  for (const SessionResult &s : r.sessions)
    addSession(json, s);
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}
