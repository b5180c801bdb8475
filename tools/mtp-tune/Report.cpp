//===- Report.cpp - What a profile decides --------------------------------===//

#include "tools/mtp-tune/Report.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/profile/Alternatives.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/LaunchChoice.h"
#include "runtime/profile/ThresholdChoice.h"
#include "runtime/profile/TreeChoice.h"
#include "runtime/profile/VocabularyChoice.h"
#include "tools/mtp-tune/Decisions.h"
#include "tools/mtp-tune/Drafts.h"
#include "tools/mtp-tune/Prompts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;
using namespace mtp::tune;

/// Limit on the slots for which trees are chosen.
static constexpr uint32_t kMostSlots = 256;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatted(const char *format, double number) {
  char text[48];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

static std::string decisionText(const Decision &of) {
  std::string text = strCat(
      "  slots ", of.batch, ", context ", uint64_t(1) << of.context,
      "..: k = ", of.alternatives[of.best].k, ", ", formatted("%.2f", of.gain),
      " +- ", formatted("%.2f", of.doubt),
      " of the default's rate (k = ", of.alternatives[of.defaultChoice].k,
      ")\n");
  for (const Alternative &one : of.alternatives)
    text += strCat(
        "    k = ", one.k, "  ", formatted("%8.3f", one.seconds * 1e3),
        " ms +- ", formatted("%4.1f", one.spread * 100), " %, AL ",
        formatted("%.2f", one.length), ", ", formatted("%7.1f", one.rate),
        " tokens/s, ", formatted("%.2f", one.gain), " of plain steps\n");
  return text;
}

double tune::confidenceOf(const profile::TunedChoice &choice) {
  return confidenceOf(2 - choice.ratio, choice.error);
}

/// Describes the choice of a tunable's value.
static std::string choiceText(const profile::TunedChoice &of) {
  std::string text = strCat(
      "  ", of.tunable->name, " = ", of.value,
      of.isDefault() ? " (default); " : "; ", "best other ", of.best, ": ",
      formatted("%.3f", of.ratio), " +- ", formatted("%.3f", of.error),
      " of the default's time in ", of.shapes, " shapes, faster with ",
      formatted("%.1f", confidenceOf(of) * 100), " % confidence");
  if (of.isSlowerSomewhere)
    text += ", slower in some";
  return text + "\n";
}

/// Describes what mtpc chooses; empty if nothing was compared.
static std::string
choicesText(const std::vector<profile::TunedChoice> &choices) {
  std::string text;
  bool isAllDefault = true;
  for (const profile::TunedChoice &choice : choices) {
    text += choiceText(choice);
    isAllDefault &= choice.isDefault();
  }
  if (!choices.empty() && isAllDefault)
    text += "  no other value of a tunable pays beyond noise: mtpc --profile "
            "keeps the defaults\n";
  return text;
}

static std::string ratesText(const profile::Outcomes &of) {
  std::string text;
  for (size_t j = 0; j < of.tried.size(); ++j)
    text += strCat(j ? ", " : "",
                   of.tried[j] ? formatted("%.2f", double(of.accepted[j]) /
                                                       double(of.tried[j]))
                               : "?",
                   " of ", of.tried[j]);
  return text.empty() ? "none: no drafts" : text;
}

/// Returns lines with two spaces in front of each.
static std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    size_t end = lines.find('\n');
    text += strCat("  ", lines.substr(0, end), "\n");
    lines.remove_prefix(end + 1);
  }
  return text;
}

/// Returns the best chain and tree for a profile with outcomes of nodes.
static std::string treesText(const profile::Profile &profile,
                             const profile::MachineCosts &machine) {
  if (profile.nodes.counts.empty())
    return "";
  Result<profile::TreeReport> report =
      profile::chooseTree(profile, machine, {}, kMostSlots, {});
  if (!report)
    return strCat("  no static tree: ", report.status().message(), "\n");
  return indented(profile::treeText(*report));
}

/// Returns the confidence at which chains should end; empty without outcomes by
/// confidence.
static std::string confidenceText(const profile::Profile &profile,
                                  const profile::MachineCosts &machine) {
  if (profile.confidence.isEmpty())
    return "";
  Result<profile::ThresholdReport> report =
      profile::chooseThreshold(profile, machine, {});
  return report ? "  " + profile::thresholdText(*report)
                : strCat("  no confidence: ", report.status().message(), "\n");
}

/// Returns the choice of CUDA graphs; empty for a profile of a CPU.
static std::string graphsText(const profile::Profile &profile,
                              const profile::MachineCosts &machine) {
  auto choice = profile::capturesOf(machine, profile.load);
  return choice ? indented(profile::captureText(*choice)) : "";
}

/// Returns the choice of rounds per launch; empty if no launches were measured.
static std::string launchesText(const profile::Profile &profile,
                                const profile::MachineCosts &machine) {
  auto choice = profile::launchOf(profile, machine);
  return choice ? indented(profile::launchText(*choice)) : "";
}

/// Returns the vocabulary of drafts that pays; empty if the profile does not
/// decide it.
static std::string vocabularyText(const profile::Profile &profile,
                                  const profile::MachineCosts &machine) {
  Result<profile::VocabularyChoice> choice =
      profile::chooseVocabulary(profile, machine);
  return choice ? "  " + profile::vocabularyText(*choice) : "";
}

std::string tune::reportText(const profile::Profile &profile) {
  std::string text = strCat(
      "model '", profile.model.name, "', drafter '", profile.model.drafter,
      "'\nacceptance by position: ", ratesText(profile.allOutcomes()), "\n");
  for (const profile::MachineCosts &machine : profile.machines) {
    text += strCat(
        "machine '", machine.name, "', threads ", machine.threads,
        machine.gpu.isUnknown() ? "" : strCat(", ", machine.gpu.text()),
        machine.isBusy ? ", busy: measure again on a quiet machine" : "", "\n");
    for (const Decision &decision : decide(profile, machine))
      text += decisionText(decision);
    text += choicesText(profile::chooseTuning(machine, profile.load));
    text += treesText(profile, machine) + graphsText(profile, machine);
    text += launchesText(profile, machine);
    text += vocabularyText(profile, machine) + confidenceText(profile, machine);
    text += decisionsText(decisionsOf(profile, machine));
  }
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeAlternative(JsonWriter &json, const Alternative &of) {
  json.beginObject();
  json.field("k", of.k);
  json.field("seconds", of.seconds);
  json.field("spread", of.spread);
  json.field("length", of.length);
  json.field("rate", of.rate);
  json.field("gain", of.gain);
  json.field("doubt", of.doubt);
  json.endObject();
}

static void writeChoice(JsonWriter &json, const profile::TunedChoice &of) {
  json.beginObject();
  json.field("name", of.tunable->name);
  json.field("value", of.value);
  json.field("default", of.tunable->value);
  json.field("best_other", of.best);
  json.field("ratio", of.ratio);
  json.field("error", of.error);
  json.field("confidence", confidenceOf(of));
  json.endObject();
}

static void writeDecision(JsonWriter &json, const Decision &of) {
  json.beginObject();
  json.field("slots", of.batch);
  json.field("context", uint64_t(1) << of.context);
  json.field("best_k", of.alternatives[of.best].k);
  json.field("default_k", of.alternatives[of.defaultChoice].k);
  json.field("gain", of.gain);
  json.field("doubt", of.doubt);
  json.key("alternatives");
  json.beginArray();
  for (const Alternative &one : of.alternatives)
    writeAlternative(json, one);
  json.endArray();
  json.endObject();
}

/// Writes the choice of CUDA graphs; nothing for a profile of a CPU.
static void writeGraphs(JsonWriter &json, const profile::Load &load,
                        const profile::MachineCosts &machine) {
  auto choice = profile::capturesOf(machine, load);
  if (!choice)
    return;
  json.key("graphs");
  json.beginObject();
  json.field("nodes", choice->nodes);
  json.field("gain", choice->exactSeconds / choice->seconds);
  json.field("padded", choice->padded);
  json.field("measured_padding", choice->measured);
  json.key("sizes");
  json.beginArray();
  for (const auto &[k, sizes] : choice->sizes) {
    json.beginObject();
    json.field("k", k);
    json.field("slots", std::vector<int>(sizes.begin(), sizes.end()));
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

/// Writes the choice of rounds per launch; nothing without launches.
static void writeLaunches(JsonWriter &json, const profile::Profile &profile,
                          const profile::MachineCosts &machine) {
  auto choice = profile::launchOf(profile, machine);
  if (!choice)
    return;
  json.key("launches");
  json.beginObject();
  json.field("rounds", choice->rounds);
  json.field("default_rounds", choice->usualRounds);
  json.field("gain", choice->gain);
  json.field("doubt", choice->doubt);
  json.field("tokens", choice->tokens);
  json.field("assumed", choice->isAssumed);
  json.key("alternatives");
  json.beginArray();
  for (const profile::LaunchOption &option : choice->options) {
    json.beginObject();
    json.field("rounds", option.rounds);
    json.field("seconds", option.seconds);
    json.field("gain", option.gain);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

/// Writes the costs of rounds, for pictures.
static void writeCosts(JsonWriter &json, const profile::MachineCosts &machine) {
  json.key("costs");
  json.beginArray();
  for (const profile::Cost &cost : machine.costs) {
    if (!cost.isPlainRound())
      continue;
    json.beginObject();
    json.field("slots", cost.batch);
    json.field("k", cost.k);
    json.field("rows", cost.rows);
    json.field("context",
               uint64_t(1) << profile::bucketOf(cost.positions / cost.batch));
    json.field("program", std::to_string(cost.program));
    json.field("seconds", machine.secondsOf(cost));
    json.endObject();
  }
  json.endArray();
}

/// Writes the times of passes over prompts with the times that a session
/// predicts, for pictures.
static void writePrompts(JsonWriter &json, const profile::Profile &profile,
                         const profile::MachineCosts &machine) {
  PromptCosts costs(profile, machine);
  json.key("prefills");
  json.beginArray();
  for (const profile::Cost &cost : machine.costs) {
    if (cost.work != profile::Work::Prefill)
      continue;
    json.beginObject();
    json.field("rows", cost.rows);
    json.field("seconds", machine.secondsOf(cost));
    json.field("predicted", costs.seconds(cost.rows));
    json.endObject();
  }
  json.endArray();
}

/// Writes the gains of the measured drafts, and of the best chain and tree,
/// over plain steps.
static void writeTrees(JsonWriter &json, const profile::Profile &profile,
                       const profile::MachineCosts &machine) {
  if (profile.nodes.counts.empty())
    return;
  Result<profile::TreeReport> report =
      profile::chooseTree(profile, machine, {}, kMostSlots, {});
  if (!report)
    return;
  json.key("drafts");
  json.beginObject();
  json.field("measured_gain", report->measured.gain);
  json.field("chain_k", report->chain.depth());
  json.field("chain_gain", report->chain.gain);
  json.field("tree_nodes", report->tree.paths.size());
  json.field("tree_gain", report->tree.gain);
  json.field("verdict", profile::treeVerdict(*report));
  json.endObject();
}

/// Writes the confidence at which chains should end, if it is known.
static void writeConfidence(JsonWriter &json, const profile::Profile &profile,
                            const profile::MachineCosts &machine) {
  Result<profile::ThresholdReport> report =
      profile::chooseThreshold(profile, machine, {});
  if (!report)
    return;
  json.key("confidence");
  json.beginObject();
  json.field("least", report->best.least);
  json.field("k", report->best.k);
  json.field("default_k", report->usual.k);
  json.field("tokens", report->best.tokens);
  json.field("drafts", report->best.drafts);
  json.field("gain", report->gain);
  json.field("doubt", report->doubt);
  json.field("pays", report->pays());
  json.endObject();
}

/// Writes the nodes that have outcomes, and the paths of the best tree.
static void writeNodes(JsonWriter &json, const profile::Profile &profile) {
  json.key("nodes");
  json.beginArray();
  for (const auto &[path, count] : profile.nodes.counts) {
    json.beginObject();
    json.field("path", std::vector<int>(path.begin(), path.end()));
    json.field("tried", count.tried);
    json.field("accepted", count.accepted);
    json.endObject();
  }
  json.endArray();
  json.key("tree");
  json.beginArray();
  if (!profile.nodes.counts.empty() && !profile.machines.empty())
    if (auto report = profile::chooseTree(profile, profile.machines.front(), {},
                                          kMostSlots, {}))
      for (const profile::Path &path : report->tree.paths)
        json.value(std::vector<int>(path.begin(), path.end()));
  json.endArray();
}

std::string tune::reportJson(const profile::Profile &profile) {
  profile::Outcomes all = profile.allOutcomes();
  JsonWriter json;
  json.beginObject();
  json.field("model", profile.model.name);
  json.field("drafter", profile.model.drafter);
  json.field("tried", std::vector<int64_t>(all.tried.begin(), all.tried.end()));
  json.field("accepted",
             std::vector<int64_t>(all.accepted.begin(), all.accepted.end()));
  writeNodes(json, profile);
  json.key("machines");
  json.beginArray();
  for (const profile::MachineCosts &machine : profile.machines) {
    json.beginObject();
    json.field("name", machine.name);
    json.field("threads", machine.threads);
    json.field("busy", machine.isBusy);
    if (!machine.gpu.isUnknown()) {
      json.field("driver", machine.gpu.driver);
      json.field("clock", machine.gpu.clock);
      json.field("memory_clock", machine.gpu.memoryClock);
    }
    json.key("decisions");
    json.beginArray();
    for (const Decision &decision : decide(profile, machine))
      writeDecision(json, decision);
    json.endArray();
    json.key("tunables");
    json.beginArray();
    for (const profile::TunedChoice &choice :
         profile::chooseTuning(machine, profile.load))
      writeChoice(json, choice);
    json.endArray();
    writeGraphs(json, profile.load, machine);
    writeLaunches(json, profile, machine);
    writeTrees(json, profile, machine);
    writeConfidence(json, profile, machine);
    json.key("readers");
    writeDecisions(json, decisionsOf(profile, machine));
    writePrompts(json, profile, machine);
    writeCosts(json, machine);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}
