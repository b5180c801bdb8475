//===- mtp-tune.cpp - Measure a model for a profile -----------------------===//
//
// Exit status: 0 success, 1 the model cannot be measured or a file not be read,
// 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/mtp-tune/Alternatives.h"
#include "tools/mtp-tune/Gemms.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/Modes.h"
#include "tools/mtp-tune/Report.h"
#include "tools/support/Flags.h"
#include "tools/support/Output.h"
#include "tools/support/SharedFlags.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace mtp;
using namespace mtp::tune;

static const char *const kExamples = R"(Examples:
  mtp-tune model.bin -o model.profile
  mtp-tune model.mlir --compile "--quantize=int4" -o model.profile
  mtpc model.mlir --quantize=int4 --profile model.profile -o model.bin
  mtp-tune model.bin --prompts questions.txt --minutes 1 -o model.profile
  mtp-run model.bin --profile model.profile -k auto --prompt "Once"
  mtp-tune --report model.profile
  mtp-tune chain.bin tree.bin int4.bin --prompts code.txt --prompts chats.txt
  mtp-tune model.bin --simulate h100 --acceptance 0.85,0.72,0.6,0.5
  mtp-tune --report model.profile --json | mtp-tune-chart - > tune.svg
)";

static void addFlags(CLI::App &app, Options &o) {
  // --report needs no artifact.
  addArtifact(app, o.artifact)->required(false);
  app.add_option("others", o.others,
                 "Other artifacts of the model: compare their speed, and write "
                 "no profile");
  addText(app, "--output,-o", o.output, "FILE", "Write the profile to FILE");
  addText(app, "--merge", o.merged, "FILE",
          "Keep the measurements of this profile, for example of other "
          "machines or numbers of threads");
  addText(app, "--report", o.report, "FILE",
          "Print what a profile decides, and measure nothing");
  addText(app, "--compile", o.compile, "FLAGS",
          "For a module: flags of mtpc, e.g. \"--quantize=int4\"");
  addText(app, "--simulate", o.machine, "FILE|NAME",
          "Predict rounds on the machine of this JSON file, or of this name "
          "(h100), and measure nothing");
  addText(app, "--profile", o.profile, "FILE",
          "With --simulate: use the acceptance of this profile");
  addNumbers(app, "--acceptance", o.acceptance,
             "With --simulate: the share of all rounds that accept draft 1, 2, "
             "..");
  addTexts(app, "--prompts", o.prompts, "FILE",
           "Measure on these prompts, one on each line, which may begin with a "
           "kind and a tab (default: a few of the tool's own); in a comparison "
           "each file is a workload");
  addNumber(app, "--turns", o.turns,
            "Turns of a comparison, if --minutes has time for them (default: "
            "15)");
  addNumber(app, "--minutes", o.minutes,
            "Limit on the time of the measurement (default: 3)");
  addNumber(app, "--max-tokens,-n", o.tokens,
            "Tokens to generate after each prompt (0: 96, or half of the "
            "context)");
  addNumbers(app, "--batch,-b", o.batches,
             "Numbers of slots to measure (default: some up to the maximum)");
  addNumbers(app, "--context", o.contexts,
             "Tokens in each slot (default: a short and a long context)");
  addNumbers(app, "--capture-sizes", o.captureSizes,
             "Numbers of slots to measure also with padding slots (default: on "
             "a GPU powers of two)");
  addFlag(app, "--json", o.json, "Print the report as JSON");
  addFlag(app, "--progress", o.progress,
          "Write a line to stderr for each measured shape (default: if it is "
          "a terminal)");
  addSharedFlags(app,
                 {SharedFlag::Device, SharedFlag::Threads, SharedFlag::Pin,
                  SharedFlag::NoMmap, SharedFlag::Verify},
                 o.load, o.session);
}

/// Fails if a flag was given that is not in `known`, with `mode` as the reason.
static Status allowOnly(const CLI::App &app, const std::string &mode,
                        std::initializer_list<std::string_view> known) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && option->get_name() != mode &&
        std::ranges::find(known, option->get_name()) == known.end())
      return invalidArgument(
          strCat("expected no ", option->get_name(), " with ",
                 mode == "others" ? "several artifacts" : mode));
  return okStatus();
}

static Status checkFlags(const CLI::App &app, const Options &o) {
  if (!o.report.empty())
    return allowOnly(app, "--report", {"--json"});
  if (o.artifact.empty())
    return invalidArgument("expected an artifact, or --report, got neither");
  if (!o.machine.empty()) {
    if (!o.profile.empty() && !o.acceptance.empty())
      return invalidArgument("expected --profile or --acceptance, got both");
    return allowOnly(app, "--simulate",
                     {"artifact", "--profile", "--acceptance", "--batch",
                      "--context", "--json"});
  }
  if (!o.profile.empty() || !o.acceptance.empty())
    return invalidArgument(
        strCat("expected --simulate with ",
               o.profile.empty() ? "--acceptance" : "--profile"));
  if (!o.others.empty()) {
    if (o.turns == 0)
      return invalidArgument("--turns: expected at least 1, got 0");
    return allowOnly(app, "others",
                     {"artifact", "--prompts", "--minutes", "--max-tokens",
                      "--batch", "--turns", "--json", "--progress", "--device",
                      "--threads", "--pin", "--no-mmap", "--verify"});
  }
  if (app.count("--turns") > 0)
    return invalidArgument("expected several artifacts with --turns, got one");
  if (o.output.empty())
    return invalidArgument("expected --output with an artifact");
  if (!o.compile.empty() && !isModule(o.artifact))
    return invalidArgument(
        strCat("expected a module (.mlir) with --compile, got ", o.artifact));
  return okStatus();
}

static Status printReport(const profile::Profile &profile,
                          const Options &options) {
  return writeStandardOutput(
      options.json ? reportJson(profile) : reportText(profile), "the report");
}

/// Reads the profile of --merge, which must be of the model.
static Result<profile::Profile> readMerged(const Model &model,
                                           const Options &options) {
  if (options.merged.empty())
    return profile::Profile();
  MTP_ASSIGN_OR_RETURN(profile::Profile profile,
                       profile::loadProfile(options.merged));
  Status status =
      profile::checkModel(SessionProfile::modelKey(model), profile.model);
  if (!status.isOk())
    return status.withContext(options.merged);
  return profile;
}

static void warn(const std::string &text) {
  std::fprintf(stderr, "mtp-tune: warning: %s\n", text.c_str());
}

/// Compares the alternatives of a module, and replaces it by its artifact.
static Result<ComparedAlternatives> replaceModule(Options &options) {
  if (!isModule(options.artifact))
    return ComparedAlternatives();
  MTP_ASSIGN_OR_RETURN(ComparedAlternatives compared,
                       compareAlternatives(options));
  options.artifact = compared.artifact;
  options.minutes = std::max(options.minutes - compared.seconds / 60, 0.1);
  for (const profile::Alternative &one : compared.together)
    std::fprintf(stderr,
                 "mtp-tune: chosen values together: %s, slots %u, k %u, rows "
                 "%u: %.3f +- %.3f of the default's time in %llu pairs\n",
                 one.work == profile::Work::Round ? "round" : "prompt",
                 one.batch, one.k, one.rows, one.ratio, one.error,
                 static_cast<unsigned long long>(one.pairs));
  if (compared.skipped > 0)
    warn(strCat("--minutes: expected time for all values of tunables, left "
                "out ",
                compared.skipped));
  return compared;
}

/// Adds what mtpc can choose to a machine's costs.
static void addChoices(const Options &options,
                       const std::vector<profile::Alternative> &alternatives,
                       profile::MachineCosts &machine) {
  machine.alternatives = alternatives;
  if (machine.threads > 0)
    return;
  auto products = tuneProducts(options.artifact);
  if (!products)
    warn(strCat("algorithms of the library are not tuned: ",
                products.status().message()));
  else
    machine.gemms = std::move(*products);
}

static Status run(Options options) {
  if (!options.report.empty()) {
    MTP_ASSIGN_OR_RETURN(profile::Profile profile,
                         profile::loadProfile(options.report));
    return printReport(profile, options);
  }
  if (!options.machine.empty())
    return printPrediction(options);
  if (!options.others.empty())
    return printComparison(options);
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> output,
                       OutputFile::create(options.output, options.artifact));
  warnAboutThreads("mtp-tune", options.session.threads, usableProcessors());
  MTP_ASSIGN_OR_RETURN(ComparedAlternatives compared, replaceModule(options));
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, options.load));
  MTP_ASSIGN_OR_RETURN(profile::Profile profile, readMerged(*model, options));
  MTP_ASSIGN_OR_RETURN(Measured measured, measure(model, options));
  for (profile::MachineCosts &machine : measured.profile.machines)
    addChoices(options, compared.alternatives, machine);
  profile.model = measured.profile.model;
  profile::merge(profile, measured.profile);
  std::vector<uint8_t> bytes = profile::writeProfile(profile);
  MTP_RETURN_IF_ERROR(output->commit(
      {reinterpret_cast<const char *>(bytes.data()), bytes.size()}));
  if (measured.skipped > 0)
    warn(strCat("--minutes: expected time for all numbers of slots, left out ",
                measured.skipped));
  for (const profile::MachineCosts &machine : measured.profile.machines)
    if (machine.isBusy)
      warn("other processes disturbed the measurement; measure again on a "
           "quiet machine");
  // The file has no small counts of tokens, so they decide nothing.
  MTP_ASSIGN_OR_RETURN(profile, profile::readProfile(bytes));
  return printReport(profile, options);
}

int main(int argc, char **argv) {
  CLI::App app("Measure a model on this machine, and write a profile that "
               "other tools read",
               "mtp-tune");
  app.footer(kExamples);
  Options options;
  options.progress = ::isatty(STDERR_FILENO);
  addFlags(app, options);
  return toolMain(
      app, argc, argv, [&] { return checkFlags(app, options); },
      [&] { return run(options); });
}
