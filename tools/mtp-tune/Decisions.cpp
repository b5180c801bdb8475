//===- Decisions.cpp - Each decision that follows from a profile ----------===//

#include "tools/mtp-tune/Decisions.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/Alternatives.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/LaunchChoice.h"
#include "runtime/profile/RowLimit.h"
#include "runtime/profile/ThreadChoice.h"
#include "runtime/profile/ThresholdChoice.h"
#include "runtime/profile/TreeChoice.h"
#include "runtime/profile/VocabularyChoice.h"
#include "tools/mtp-tune/Drafts.h"
#include "tools/mtp-tune/Prompts.h"
#include "tools/mtp-tune/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;
using namespace mtp::tune;

double tune::confidenceOf(double gain, double doubt) {
  if (doubt == 0)
    return gain > 1 ? 1 : 0;
  return std::erfc((1 - gain) / doubt / std::sqrt(2.0)) / 2;
}

static std::string formatted(const char *format, double number) {
  char text[48];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

namespace {
/// Collects the decisions of one machine.
class Decisions {
public:
  Decisions(const profile::Profile &profile,
            const profile::MachineCosts &machine)
      : profile(profile), machine(machine), resamples(profile, machine) {}

  void addDrafts(const std::vector<Decision> &decisions);
  void addThreshold();
  void addThreads();
  void addPrompts(const std::vector<Decision> &decisions);
  void addLaunches();
  void addGraphs();
  void addTrees();
  void addTunables();
  void addAlgorithms();
  void addVocabulary();

  std::vector<ReaderDecision> all;

private:
  ReaderDecision &add(const char *reader, std::string_view name,
                      std::string choice = "", std::string usual = "");
  void addGain(ReaderDecision &to, double gain, double doubt) {
    to.gain = gain;
    to.doubt = doubt;
  }
  /// Adds a gain whose doubt is unknown to the function that decides.
  void addGain(ReaderDecision &to, double gain, const GainOf &gainOf) {
    to.gain = gain;
    to.doubt = resamples.doubtOf(gainOf);
  }
  void addDynamic(const profile::TreeReport &report);
  void addRowLimit(const profile::TreeReport &report);

  const profile::Profile &profile;
  const profile::MachineCosts &machine;
  Resamples resamples;
};
} // namespace

ReaderDecision &Decisions::add(const char *reader, std::string_view name,
                               std::string choice, std::string usual) {
  ReaderDecision &one = all.emplace_back();
  one.reader = reader;
  one.name = name;
  one.choice = std::move(choice);
  one.usual = std::move(usual);
  return one;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

static std::string shapeText(const Decision &of) {
  return strCat("slots ", of.batch, ", context ", uint64_t(1) << of.context,
                "..");
}

void Decisions::addDrafts(const std::vector<Decision> &decisions) {
  for (const Decision &of : decisions) {
    ReaderDecision &one =
        add("session", "k", std::to_string(of.alternatives[of.best].k),
            std::to_string(of.alternatives[of.defaultChoice].k));
    one.shape = shapeText(of);
    addGain(one, of.gain, of.best == of.defaultChoice ? 0 : of.doubt);
  }
  if (decisions.empty())
    add("session", "k").note =
        "expected rounds with and without drafts, and acceptance";
}

void Decisions::addThreshold() {
  Result<profile::ThresholdReport> report =
      profile::chooseThreshold(profile, machine, {});
  ReaderDecision &one = add("session, mtp-import", "confidence");
  if (!report) {
    one.note = report.status().message();
    return;
  }
  one.usual = formatted("%g", report->usual.least);
  one.choice = report->pays() ? formatted("%g", report->best.least) : one.usual;
  addGain(one, report->pays() ? report->gain : 1,
          report->pays() ? report->doubt : 0);
}

void Decisions::addThreads() {
  if (machine.threads == 0)
    return;
  // The largest measured number stands for the number of processors.
  for (const profile::MachineCosts &of : profile.machines)
    if (of.name == machine.name && of.threads > machine.threads)
      return;
  profile::ThreadChoice choice =
      profile::chooseThreads(profile, machine.name, machine.threads);
  ReaderDecision &one =
      add("session", "threads", std::to_string(choice.threads),
          std::to_string(choice.usualThreads));
  addGain(one, choice.gain, choice.doubt);
  if (choice.options.empty())
    one.note = "no other number was measured (mtp-tune --threads N --merge)";
  else if (choice.threads == choice.usualThreads)
    for (const profile::ThreadOption &option : choice.options)
      one.note += strCat(one.note.empty() ? "" : "; ", option.threads,
                         " threads: ", formatted("%.3f", option.ratio), " +- ",
                         formatted("%.3f", option.error), " of the time");
}

void Decisions::addPrompts(const std::vector<Decision> &decisions) {
  PromptCosts costs(profile, machine);
  if (costs.chunk() == 0) {
    add("session", "prompt rows").note =
        "expected times of passes over prompts, got none";
    return;
  }
  for (size_t i = 0; i < decisions.size(); ++i) {
    const Decision &of = decisions[i];
    // The longest context stands for a number of slots.
    if (i + 1 < decisions.size() && decisions[i + 1].batch == of.batch)
      continue;
    for (bool isMixed : {false, true}) {
      PromptShape shape{of.alternatives[of.best].seconds, of.rows(), isMixed};
      PromptChoice choice = costs.choose(shape);
      ReaderDecision &one =
          add("session", isMixed ? "prompt rows in a round" : "prompt rows",
              std::to_string(choice.rows), std::to_string(choice.usualRows));
      one.shape = shapeText(of);
      one.note = strCat(formatted("%.3f", choice.seconds * 1e3), " ms",
                        isMixed ? ", if the artifact has such rounds" : "");
      addGain(one, choice.gain,
              [&](const profile::Profile &copy,
                  const profile::MachineCosts &other) -> std::optional<double> {
                return PromptCosts(copy, other).choose(shape).gain;
              });
    }
  }
}

void Decisions::addLaunches() {
  if (machine.threads > 0)
    return;
  auto choice = profile::launchOf(profile, machine);
  ReaderDecision &one = add("session", "rounds per launch");
  if (!choice) {
    one.note = "expected launches of several numbers of rounds";
    return;
  }
  one.choice = std::to_string(choice->rounds);
  one.usual = std::to_string(choice->usualRounds);
  addGain(one, choice->gain, choice->doubt);
}

void Decisions::addGraphs() {
  if (machine.threads > 0)
    return;
  auto choice = profile::capturesOf(machine, profile.load);
  ReaderDecision &one = add("session", "graphs");
  if (!choice) {
    one.note = "expected a load and nodes of rounds (mtp-serve --record)";
    return;
  }
  one.choice = strCat(choice->graphs.size(), ", ", choice->built(),
                      " of them built at the start");
  one.usual = "one for each number of slots, none built";
  if (choice->sizes.empty())
    one.note = "each number of slots has graphs";
  addGain(one, choice->exactSeconds / choice->seconds,
          [](const profile::Profile &copy,
             const profile::MachineCosts &of) -> std::optional<double> {
            auto choice = profile::capturesOf(of, copy.load);
            return choice
                       ? std::optional(choice->exactSeconds / choice->seconds)
                       : std::nullopt;
          });
}

//===----------------------------------------------------------------------===//
// mtp-import
//===----------------------------------------------------------------------===//

/// Slots for which the rows of trees are compared: none, which saves time.
static constexpr uint32_t kNoSlots = 0;

static std::string treeText(const profile::TreeChoice &of, bool isBlock) {
  if (of.paths.empty())
    return "no drafts";
  if (of.isChain())
    return strCat(isBlock ? "block" : "chain", " of ", of.depth());
  return strCat("tree of ", of.paths.size(), " nodes, depth ", of.depth());
}

void Decisions::addTrees() {
  Result<profile::TreeReport> report =
      profile::chooseTree(profile, machine, {}, kNoSlots, {});
  if (!report) {
    add("mtp-import", "drafts").note = report.status().message();
    return;
  }
  ReaderDecision &one =
      add("mtp-import", "drafts", treeText(report->best(), report->isBlock),
          strCat(report->measuredNodes, " nodes, depth ", report->measuredK));
  if (report->measured.gain > 0)
    addGain(one, report->best().gain / report->measured.gain,
            [](const profile::Profile &copy,
               const profile::MachineCosts &of) -> std::optional<double> {
              auto report = profile::chooseTree(copy, of, {}, kNoSlots, {});
              if (!report || !(report->measured.gain > 0))
                return std::nullopt;
              return report->best().gain / report->measured.gain;
            });
  if (report->ranks > 1)
    addDynamic(*report);
  addRowLimit(*report);
}

void Decisions::addDynamic(const profile::TreeReport &report) {
  profile::DynamicSizes sizes = profile::dynamicSizes(report.tree);
  ReaderDecision drafts = all.back();
  ReaderDecision &one = add("mtp-import", "dynamic tree",
                            strCat("depth ", sizes.depth, ", width ",
                                   sizes.width, ", nodes ", sizes.nodes),
                            drafts.usual);
  // The speed of a dynamic tree is taken for the speed of the static one.
  one.gain = drafts.gain;
  one.doubt = drafts.doubt;
  one.note = "as fast as the best tree";
}

void Decisions::addRowLimit(const profile::TreeReport &report) {
  uint32_t slots = 1;
  for (const profile::Cost &cost : machine.costs)
    slots = std::max(slots, cost.batch);
  std::vector<profile::Path> nodes = report.best().paths;
  if (nodes.empty())
    return;
  profile::sortByRow(nodes);
  ReaderDecision &one = add("mtp-import", "verified rows");
  auto limit = profile::chooseRowLimit(profile, machine, nodes, slots);
  if (!limit) {
    one.note = limit.status().message();
    return;
  }
  one.shape = strCat("slots ", slots);
  one.usual = std::to_string(limit->allRows);
  one.choice = limit->rows > 0 ? std::to_string(limit->rows) : one.usual;
  addGain(one, limit->gain,
          [&](const profile::Profile &copy,
              const profile::MachineCosts &of) -> std::optional<double> {
            auto limit = profile::chooseRowLimit(copy, of, nodes, slots);
            return limit ? std::optional(limit->gain) : std::nullopt;
          });
}

//===----------------------------------------------------------------------===//
// mtpc
//===----------------------------------------------------------------------===//

void Decisions::addTunables() {
  auto choices = profile::chooseTuning(machine, profile.load);
  for (const profile::TunedChoice &of : choices) {
    ReaderDecision &one =
        add("mtpc", of.tunable->name, std::to_string(of.value),
            std::to_string(of.tunable->value));
    if (!of.isDefault())
      addGain(one, 1 / of.ratio, of.error / of.ratio / of.ratio);
    else {
      addGain(one, 1, 0);
      one.note =
          strCat("best other ", of.best, ": ", formatted("%.3f", of.ratio),
                 " +- ", formatted("%.3f", of.error), " of the time");
    }
  }
  if (choices.empty())
    add("mtpc", "tunables").note =
        "expected times of other values (mtp-tune model.mlir)";
}

void Decisions::addAlgorithms() {
  if (machine.threads > 0)
    return;
  ReaderDecision &one = add("mtpc", "library algorithms");
  if (machine.gemms.empty()) {
    one.note = "expected products of the GPU vendor's library, got none";
    return;
  }
  one.choice = strCat("the fastest of ", machine.gemms.size(), " products");
  one.usual = "the library's";
  one.note = "a profile has no times of them";
}

void Decisions::addVocabulary() {
  ReaderDecision &one = add("mtpc", "draft vocabulary");
  auto choice = profile::chooseVocabulary(profile, machine);
  if (!choice) {
    one.note = choice.status().message();
    return;
  }
  one.usual = std::to_string(choice->vocab);
  one.choice = choice->tokens.empty() ? one.usual
                                      : std::to_string(choice->tokens.size());
  addGain(one, choice->gain,
          [](const profile::Profile &copy,
             const profile::MachineCosts &of) -> std::optional<double> {
            auto choice = profile::chooseVocabulary(copy, of);
            return choice ? std::optional(choice->gain) : std::nullopt;
          });
}

std::vector<ReaderDecision>
tune::decisionsOf(const profile::Profile &profile,
                  const profile::MachineCosts &machine) {
  Decisions decisions(profile, machine);
  std::vector<Decision> drafts = decide(profile, machine);
  decisions.addDrafts(drafts);
  decisions.addThreshold();
  decisions.addThreads();
  decisions.addPrompts(drafts);
  decisions.addLaunches();
  decisions.addGraphs();
  decisions.addTrees();
  decisions.addTunables();
  decisions.addAlgorithms();
  decisions.addVocabulary();
  return std::move(decisions.all);
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

/// Describes a gain: "; 1.10 +- 0.02 of the default's rate, 100.0 %
/// confidence".
static std::string gainText(const ReaderDecision &of) {
  if (of.choice == of.usual || !of.gain)
    return "";
  std::string text = strCat("; ", formatted("%.3f", *of.gain));
  if (of.doubt)
    text += strCat(" +- ", formatted("%.3f", *of.doubt));
  text += " of the default's rate";
  if (of.doubt)
    text += strCat(", faster with ",
                   formatted("%.1f", confidenceOf(*of.gain, *of.doubt) * 100),
                   " % confidence");
  return text;
}

std::string tune::decisionsText(const std::vector<ReaderDecision> &decisions) {
  std::string text = "  decisions:\n";
  for (const ReaderDecision &of : decisions) {
    text += strCat("    ", of.reader, ": ", of.name,
                   of.shape.empty() ? "" : strCat(" (", of.shape, ")"));
    if (of.choice.empty())
      text += strCat(": not decided: ", of.note, "\n");
    else
      text += strCat(
          " = ", of.choice,
          of.choice == of.usual ? " (default)" : strCat(", default ", of.usual),
          gainText(of), of.note.empty() ? "" : strCat("; ", of.note), "\n");
  }
  return text;
}

void tune::writeDecisions(JsonWriter &json,
                          const std::vector<ReaderDecision> &decisions) {
  json.beginArray();
  for (const ReaderDecision &of : decisions) {
    json.beginObject();
    json.field("reader", of.reader);
    json.field("name", of.name);
    json.field("shape", of.shape);
    json.field("choice", of.choice);
    json.field("default", of.usual);
    if (of.gain)
      json.field("gain", *of.gain);
    if (of.gain && of.doubt) {
      json.field("doubt", *of.doubt);
      json.field("confidence", confidenceOf(*of.gain, *of.doubt));
    }
    json.field("note", of.note);
    json.endObject();
  }
  json.endArray();
}
