//===- DumpProfile.cpp - Print a profile ----------------------------------===//

#include "tools/mtp-dump/DumpProfile.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/LaunchChoice.h"
#include "runtime/profile/ProfileFile.h"

#include <cstdio>

using namespace mtp;
using namespace mtp::profile;

static std::string hexOf(uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(number));
  return text;
}

/// Returns a number in a printf format.
static std::string formatted(const char *format, double number) {
  char text[48];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

static const char *nameOf(Work work) {
  return work == Work::Round ? "round" : "prefill";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns the acceptance of each draft: "0.71 of 1000, 0.57 of 700".
static std::string ratesText(const Outcomes &of) {
  std::string text;
  for (size_t j = 0; j < of.tried.size(); ++j) {
    double rate =
        of.tried[j] ? double(of.accepted[j]) / double(of.tried[j]) : 0;
    text += strCat(j ? ", " : "", formatted("%.3f", rate), " of ", of.tried[j]);
  }
  return text.empty() ? "none" : text;
}

/// Returns a node's path: "0.1" is the second guess after the first draft.
static std::string pathText(const NodeOutcomes::Path &path) {
  std::string text;
  for (uint8_t rank : path)
    text += strCat(text.empty() ? "" : ".", uint32_t(rank));
  return text;
}

static Outcomes outcomesOf(uint64_t tried, uint64_t accepted) {
  Outcomes of;
  of.tried = {tried};
  of.accepted = {accepted};
  return of;
}

/// Returns the acceptance by node, kind and confidence, and counts of tokens.
static std::string acceptanceText(const Profile &of) {
  std::string text;
  for (const auto &[path, count] : of.nodes.counts)
    text += strCat("node ", pathText(path), "  ",
                   ratesText(outcomesOf(count.tried, count.accepted)), "\n");
  for (const KindOutcomes &kind : of.kinds)
    text += strCat("kind '", kind.name, "'  ", ratesText(kind.outcomes), "\n");
  for (size_t i = 0; i < kConfidenceBuckets; ++i)
    if (of.confidence.tried[i] > 0)
      text += strCat("confidence ",
                     formatted("%.4f", double(i) / double(kConfidenceBuckets)),
                     "..  ",
                     ratesText(outcomesOf(of.confidence.tried[i],
                                          of.confidence.accepted[i])),
                     "\n");
  for (const auto &[token, count] : of.tokens.counts)
    text += strCat("token ", token, "  output ", count.output, ", drafted ",
                   count.drafted, ", accepted ", count.accepted, "\n");
  if (of.head.vocab > 0)
    text += strCat("head of ", of.head.vocab, " tokens, ",
                   formatted("%.3f", of.head.share), " of a drafter's bytes\n");
  return text;
}

/// Returns the name of a cost's work, and the part of its shape that only this
/// work has.
static std::string workText(const Cost &of) { return nameOf(of.work); }
static std::string workText(const LaunchCost &) { return "launch"; }
static std::string ownShapeText(const Cost &of) {
  return strCat("rows ", of.rows,
                of.padding ? strCat(", padding ", of.padding) : "");
}
static std::string ownShapeText(const LaunchCost &of) {
  return strCat("rounds ", of.rounds);
}

/// Returns the line of a cost of a program, or of launches.
template <typename CostT>
static std::string costText(const CostT &of) {
  return strCat("  ", workText(of), " ", hexOf(of.program), "  batch ",
                of.batch, ", k ", of.k, ", ", ownShapeText(of), ", positions ",
                of.positions, "  ", formatted("%.4f", of.median * 1e3), " ms (",
                formatted("%.4f", of.lower * 1e3), " to ",
                formatted("%.4f", of.upper * 1e3), ") in ", of.count,
                " runs\n");
}

static std::string alternativeText(const Alternative &of) {
  return strCat("  ", of.tunable, "=", of.value, "  ", nameOf(of.work),
                ", batch ", of.batch, ", k ", of.k, ", rows ", of.rows,
                ", positions ", of.positions, "  ", formatted("%.4f", of.ratio),
                " +- ", formatted("%.4f", of.error),
                " of the default's time in ", of.pairs, " pairs\n");
}

static std::string histogramText(const char *name,
                                 const std::vector<uint64_t> &counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      text +=
          strCat(text.empty() ? "" : ", ", uint64_t(1) << i, "..: ", counts[i]);
  return strCat("  ", name, "  ", text.empty() ? "none" : text, "\n");
}

static std::string roundsText(const Load &load) {
  std::string text;
  for (const auto &[shape, count] : load.rounds)
    text += strCat("  rounds  slots ", shape.first, ", k ", shape.second, "  ",
                   count, "\n");
  return text;
}

std::string mtp::profileText(const Profile &profile) {
  const ModelKey &key = profile.model;
  std::string text = strCat("profile version ", kVersion, "\nmodel '", key.name,
                            "', weights ", hexOf(key.weights), ", tokenizer ",
                            hexOf(key.tokenizer), "\ndrafter '", key.drafter,
                            "'\ncheck  ", ratesText(profile.check), "\n");
  for (const Outcomes &of : profile.outcomes)
    text +=
        strCat("outcomes ", of.isSampled ? "sampled" : "greedy", ", context ",
               uint64_t(1) << of.context, "..  ", ratesText(of), "\n");
  text += acceptanceText(profile);
  for (const MachineCosts &of : profile.machines) {
    text += strCat("machine '", of.name, "', threads ", of.threads, ", day ",
                   of.day, of.isBusy ? ", busy" : "",
                   of.gpu.isUnknown() ? "" : strCat(", ", of.gpu.text()), "\n");
    for (const Cost &cost : of.costs)
      text += costText(cost);
    for (const LaunchCost &one : of.launches)
      text += costText(one);
    for (const Alternative &one : of.alternatives)
      text += alternativeText(one);
    for (const GemmChoice &one : of.gemms)
      text += strCat("  library ", one.version, " on ", one.chip, "  rows ",
                     one.rows, ", outputs ", one.outputs, ", inputs ",
                     one.inputs, "\n");
    if (auto choice = capturesOf(of, profile.load))
      text += captureText(*choice);
    if (auto choice = launchOf(profile, of))
      text += launchText(*choice);
  }
  return text + "load\n" + histogramText("slots", profile.load.slots) +
         histogramText("contexts", profile.load.contexts) +
         histogramText("prompts", profile.load.prompts) +
         histogramText("outputs", profile.load.outputs) +
         roundsText(profile.load);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeCounts(JsonWriter &json, std::string_view name,
                        const std::vector<uint64_t> &counts) {
  json.field(name, std::vector<int64_t>(counts.begin(), counts.end()));
}

static void writeOutcomes(JsonWriter &json, const Outcomes &of) {
  json.field("sampled", of.isSampled);
  json.field("context", uint64_t(1) << of.context);
  writeCounts(json, "tried", of.tried);
  writeCounts(json, "accepted", of.accepted);
}

/// Writes a list as an array of objects.
template <typename T, typename WriteT>
static void writeList(JsonWriter &json, std::string_view name,
                      const std::vector<T> &items, WriteT write) {
  json.key(name);
  json.beginArray();
  for (const T &item : items) {
    json.beginObject();
    write(json, item);
    json.endObject();
  }
  json.endArray();
}

/// Writes the acceptance by node, kind and confidence, and counts of tokens.
static void writeAcceptance(JsonWriter &json, const Profile &of) {
  writeList(json, "nodes",
            std::vector(of.nodes.counts.begin(), of.nodes.counts.end()),
            [](JsonWriter &to, const auto &node) {
              to.field("path", std::vector<int64_t>(node.first.begin(),
                                                    node.first.end()));
              to.field("tried", node.second.tried);
              to.field("accepted", node.second.accepted);
            });
  writeList(json, "kinds", of.kinds,
            [](JsonWriter &to, const KindOutcomes &kind) {
              to.field("name", kind.name);
              writeCounts(to, "tried", kind.outcomes.tried);
              writeCounts(to, "accepted", kind.outcomes.accepted);
            });
  const ConfidenceOutcomes &by = of.confidence;
  writeCounts(json, "confidence_tried", {by.tried.begin(), by.tried.end()});
  writeCounts(json, "confidence_accepted",
              {by.accepted.begin(), by.accepted.end()});
  writeList(json, "tokens",
            std::vector(of.tokens.counts.begin(), of.tokens.counts.end()),
            [](JsonWriter &to, const auto &token) {
              to.field("token", token.first);
              to.field("output", token.second.output);
              to.field("drafted", token.second.drafted);
              to.field("accepted", token.second.accepted);
            });
  if (of.head.vocab > 0) {
    json.field("head_vocab", of.head.vocab);
    json.field("head_share", of.head.share);
  }
}

/// Writes the fields that only one kind of cost has.
static void writeOwn(JsonWriter &json, const Cost &of) {
  json.field("work", nameOf(of.work));
  json.field("rows", of.rows);
  json.field("padding", of.padding);
}
static void writeOwn(JsonWriter &json, const LaunchCost &of) {
  json.field("rounds", of.rounds);
}

/// Writes a cost of a program, or of launches.
template <typename CostT>
static void writeCost(JsonWriter &json, const CostT &of) {
  writeOwn(json, of);
  json.field("program", hexOf(of.program));
  json.field("batch", of.batch);
  json.field("k", of.k);
  json.field("positions", of.positions);
  json.field("lower", of.lower);
  json.field("median", of.median);
  json.field("upper", of.upper);
  json.field("count", of.count);
}

static void writeAlternative(JsonWriter &json, const Alternative &of) {
  json.field("tunable", of.tunable);
  json.field("value", of.value);
  json.field("work", nameOf(of.work));
  json.field("batch", of.batch);
  json.field("k", of.k);
  json.field("rows", of.rows);
  json.field("positions", of.positions);
  json.field("ratio", of.ratio);
  json.field("error", of.error);
  json.field("pairs", of.pairs);
}

static void writeGemm(JsonWriter &json, const GemmChoice &of) {
  json.field("version", of.version);
  json.field("chip", of.chip);
  json.field("rows", of.rows);
  json.field("outputs", of.outputs);
  json.field("inputs", of.inputs);
}

static void writeMachine(JsonWriter &json, const MachineCosts &of) {
  json.field("name", of.name);
  json.field("threads", of.threads);
  json.field("day", of.day);
  json.field("busy", of.isBusy);
  if (!of.gpu.isUnknown()) {
    json.field("driver", of.gpu.driver);
    json.field("clock", of.gpu.clock);
    json.field("memory_clock", of.gpu.memoryClock);
  }
  writeList(json, "costs", of.costs, writeCost<Cost>);
  if (of.threads == 0)
    writeList(json, "launches", of.launches, writeCost<LaunchCost>);
  writeList(json, "alternatives", of.alternatives, writeAlternative);
  writeList(json, "gemms", of.gemms, writeGemm);
}

std::string mtp::profileJson(const Profile &profile) {
  JsonWriter json;
  json.beginObject();
  json.field("version", kVersion);
  json.field("model", profile.model.name);
  json.field("weights", hexOf(profile.model.weights));
  json.field("tokenizer", hexOf(profile.model.tokenizer));
  json.field("drafter", profile.model.drafter);
  json.key("check");
  json.beginObject();
  writeOutcomes(json, profile.check);
  json.endObject();
  writeList(json, "outcomes", profile.outcomes, writeOutcomes);
  writeAcceptance(json, profile);
  writeList(json, "machines", profile.machines, writeMachine);
  json.key("load");
  json.beginObject();
  writeCounts(json, "slots", profile.load.slots);
  writeCounts(json, "contexts", profile.load.contexts);
  writeCounts(json, "prompts", profile.load.prompts);
  writeCounts(json, "outputs", profile.load.outputs);
  writeList(json, "rounds",
            std::vector(profile.load.rounds.begin(), profile.load.rounds.end()),
            [](JsonWriter &to, const auto &of) {
              to.field("slots", of.first.first);
              to.field("k", of.first.second);
              to.field("count", of.second);
            });
  json.endObject();
  json.endObject();
  return json.text() + "\n";
}
