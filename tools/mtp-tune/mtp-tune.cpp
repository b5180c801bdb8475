//===- mtp-tune.cpp - Measure a model for a profile -----------------------===//
//
// Exit status: 0 success, 1 the model cannot be measured or the profile not be
// read, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/Report.h"
#include "tools/support/Flags.h"
#include "tools/support/Output.h"
#include "tools/support/SharedFlags.h"

#include <cstdio>
#include <unistd.h>

using namespace mtp;
using namespace mtp::tune;

static const char *const kExamples = R"(Examples:
  mtp-tune model.bin -o model.profile
  mtp-tune model.bin --prompts questions.txt --minutes 1 -o model.profile
  mtp-run model.bin --profile model.profile -k auto --prompt "Once"
  mtp-tune --report model.profile
  mtp-tune --report model.profile --json | mtp-tune-chart - > tune.svg
)";

static void addFlags(CLI::App &app, Options &o) {
  // --report needs no artifact.
  addArtifact(app, o.artifact)->required(false);
  addText(app, "--output,-o", o.output, "FILE", "Write the profile to FILE");
  addText(app, "--merge", o.merged, "FILE",
          "Keep the measurements of this profile, for example of other "
          "machines or numbers of threads");
  addText(app, "--report", o.report, "FILE",
          "Print what a profile decides, and measure nothing");
  addText(app, "--prompts", o.prompts, "FILE",
          "Measure acceptance on these prompts, one on each line; a line may "
          "begin with a kind and a tab (default: a few of the tool's own)");
  addNumber(app, "--minutes", o.minutes,
            "Limit on the time of the measurement (default: 3)");
  addNumber(app, "--max-tokens,-n", o.tokens,
            "Tokens to generate after each prompt (0: 96, or half of the "
            "context)");
  addNumbers(app, "--batch,-b", o.batches,
             "Numbers of slots to measure (default: some up to the maximum)");
  addNumbers(app, "--context", o.contexts,
             "Tokens in each slot (default: a short and a long context)");
  addFlag(app, "--json", o.json, "Print the report as JSON");
  addFlag(app, "--progress", o.progress,
          "Write a line to stderr for each measured shape (default: if it is "
          "a terminal)");
  addSharedFlags(app,
                 {SharedFlag::Device, SharedFlag::Threads, SharedFlag::Pin,
                  SharedFlag::NoMmap, SharedFlag::Verify},
                 o.load, o.session);
}

static Status checkFlags(CLI::App &app, const Options &o) {
  if (!o.report.empty()) {
    for (const CLI::Option *option : app.get_options())
      if (option->count() > 0 && option->get_name() != "--report" &&
          option->get_name() != "--json")
        return invalidArgument(
            strCat("expected no ", option->get_name(), " with --report"));
    return okStatus();
  }
  if (o.artifact.empty())
    return invalidArgument("expected an artifact, or --report, got neither");
  if (o.output.empty())
    return invalidArgument("expected --output with an artifact");
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

static Status run(const Options &options) {
  if (!options.report.empty()) {
    MTP_ASSIGN_OR_RETURN(profile::Profile profile,
                         profile::loadProfile(options.report));
    return printReport(profile, options);
  }
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> output,
                       OutputFile::create(options.output, options.artifact));
  warnAboutThreads("mtp-tune", options.session.threads, usableProcessors());
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, options.load));
  MTP_ASSIGN_OR_RETURN(profile::Profile profile, readMerged(*model, options));
  MTP_ASSIGN_OR_RETURN(Measured measured, measure(model, options));
  profile.model = measured.profile.model;
  profile::merge(profile, measured.profile);
  std::vector<uint8_t> bytes = profile::writeProfile(profile);
  MTP_RETURN_IF_ERROR(output->commit(
      {reinterpret_cast<const char *>(bytes.data()), bytes.size()}));
  if (measured.skipped > 0)
    std::fprintf(stderr,
                 "mtp-tune: warning: --minutes: expected time for all numbers "
                 "of slots, left out %u\n",
                 measured.skipped);
  for (const profile::MachineCosts &machine : measured.profile.machines)
    if (machine.isBusy)
      std::fprintf(stderr, "mtp-tune: warning: other processes disturbed the "
                           "measurement; measure again on a quiet machine\n");
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
