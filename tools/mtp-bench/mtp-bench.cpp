//===- mtp-bench.cpp - Measure an artifact --------------------------------===//
//
// Exit status: 0 success, 1 the artifact cannot be measured with these flags, 2
// wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/ServeFlags.h"
#include "tools/mtp-bench/measure/Measure.h"
#include "tools/mtp-bench/report/Reports.h"
#include "tools/support/Flags.h"
#include "tools/support/Output.h"
#include "tools/support/SharedFlags.h"

#include <unistd.h>

using namespace mtp;
using namespace mtp::bench;

static const char *const kExamples = R"(Examples:
  mtp-bench model.bin --pin --acceptance=0.8,0.6,0.4
  mtp-bench model.bin --measure decode,rows --context 64,1024 -b 1,4
  mtp-bench model.bin --measure speculative --ids 1,2,3 --max-tokens 200 --json
  mtp-bench model.bin --measure sessions --ids 1,2,3 -b 1,4,16 --max-tokens 200
  mtp-bench model.bin --estimate fastest --trace round.json
  mtp-bench model.bin --estimate fastest --json | mtp-chart - > round.svg
  mtp-bench --serve http://127.0.0.1:8080 --clients 16 --prompt-ids 32-512
  mtp-bench --serve http://127.0.0.1:8080 --rate 2.5 --requests 200 --json
)";

static void addMeasureFlags(CLI::App &app, Options &o) {
  addOption(app, "--measure", "WHAT,..",
            "Any of decode, rows, prefill, speculative, sessions (default: all "
            "except sessions)",
            /*repeats=*/true, [&o](const std::string &name, std::string rest) {
              for (size_t comma = 0; comma != std::string::npos;) {
                comma = rest.find(',');
                std::string what = rest.substr(0, comma);
                if (!isMeasurement(what))
                  throwExpected(
                      name, "decode, rows, prefill, speculative or sessions",
                      what);
                o.measure.push_back(what);
                if (comma != std::string::npos)
                  rest.erase(0, comma + 1);
              }
            });
  addNumbers(app, "--batch,-b", o.batches, "Slots per round (default: 1)");
  addNumbers(app, "--context", o.contexts,
             "Tokens in each slot (default: 512, or half of the maximum)");
  addNumbers(app, "--prefill", o.prefills, "Lengths of prompts (default: 128)");
  addNumber(app, "--prefill-behind", o.prefillBehind,
            "Tokens in the slot before each prompt (default: 0)");
  addNumbers(app, "--k,-k", o.ks,
             "Drafts per round (default: 0 to the maximum)");
  addNumbers(app, "--drafts", o.drafts,
             "Drafts that a slot verifies in a round, for each slot in turn "
             "(default: all)");
  addNumber(app, "--period", o.period,
            "Period of the tokens in slots, which lookups find (default: "
            "random tokens)");
  addNumbers(app, "--acceptance", o.acceptance,
             "Simulated share of rounds that accept draft 1, 2, ..");
  addNumbers(app, "--ids", o.ids, "Prompt whose true acceptance is measured");
  CLI::Option *tokens =
      addNumber(app, "--max-tokens,-n", o.tokens,
                "Tokens to generate from --ids in each turn, or for a request "
                "of --serve (default: 64)");
  addAlias(app, "--tokens", tokens);
}

static void addFlags(CLI::App &app, Options &o, ServeFlags &serve) {
  // --serve needs no artifact.
  addArtifact(app, o.artifact)->required(false);
  addMeasureFlags(app, o);
  addNumber(app, "--turns", o.turns, "Turns of all points (default: 5)");
  addChoice<Estimate>(
      app, "--estimate", o.estimate,
      {{"median", Estimate::Median}, {"fastest", Estimate::Fastest}},
      "Figure that represents the runs of a turn (default: median)");
  addNumber(app, "--rounds", o.rounds,
            "Rounds in a turn (default: for a tenth of a second, or until the "
            "fastest time recurs)");
  addSharedFlag(app, SharedFlag::RoundsPerLaunch, o.load, o.session)
      ->description("Rounds in one launch (default: 1)");
  addSharedFlag(app, SharedFlag::CaptureSizes, o.load, o.session);
  addNumber(app, "--seed", o.seed, "Seed of tokens and acceptance");
  addNumber(
      app, "--temperature", o.temperature,
      "Temperature of all slots, in rounds without --ids (default: 0, greedy)");
  addSharedFlags(app,
                 {SharedFlag::Device, SharedFlag::Threads, SharedFlag::Pin,
                  SharedFlag::Deterministic, SharedFlag::Profile,
                  SharedFlag::NoMmap, SharedFlag::Verify},
                 o.load, o.session);
  addFlag(app, "--progress", o.progress,
          "Write each turn's times to stderr (default: if it is a terminal)");
  addFlag(app, "--no-progress", o.progress, "Do not write times to stderr",
          false);
  addFlag(app, "--json", o.json, "Print one JSON object instead of tables");
  addText(app, "--trace", o.profile, "FILE",
          "Write a round as a Chrome trace to this file");
  addServeFlags(app, serve);
}

/// Checks for flags that no measurement of the run uses.
static Status checkFlags(CLI::App &app, const Options &o,
                         const ServeFlags &serve) {
  MTP_RETURN_IF_ERROR(checkServeFlags(app, serve));
  if (serve.isGiven())
    return okStatus();
  if (o.artifact.empty())
    return invalidArgument("expected an artifact, or --serve, got neither");
  bool rounds = o.wants("speculative"), sessions = o.wantsSessions();
  struct Need {
    const char *flag;
    bool isMet;
    const char *what;
  };
  const Need needs[] = {
      {"--prefill", o.wants("prefill"), "--measure=prefill"},
      {"--prefill-behind", o.wants("prefill"), "--measure=prefill"},
      {"--k", rounds || sessions, "--measure=speculative or sessions"},
      {"--drafts", rounds && o.ids.empty(),
       "--measure=speculative without --ids"},
      {"--period", o.hasPoints(),
       "--measure=decode, rows or speculative without --ids"},
      {"--acceptance", rounds, "--measure=speculative"},
      {"--ids", rounds || sessions, "--measure=speculative or sessions"},
      {"--max-tokens", !o.ids.empty(), "--ids"},
      {"--profile", sessions, "--measure=sessions"},
      {"--capture-sizes", sessions, "--measure=sessions"},
      {"--trace", o.hasPoints(),
       "--measure=decode, rows or speculative without --ids"}};
  for (const Need &need : needs)
    if (app.count(need.flag) > 0 && !need.isMet)
      return invalidArgument(
          strCat("expected ", need.what, " with ", need.flag));
  if (sessions && o.ids.empty())
    return invalidArgument("expected --ids with --measure=sessions");
  return okStatus();
}

/// Opens `path` if it is given.
static Result<std::unique_ptr<OutputFile>> openOutput(const std::string &path,
                                                      const Options &options) {
  if (path.empty())
    return std::unique_ptr<OutputFile>();
  return OutputFile::create(path, options.artifact);
}

static Status run(Options &options) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> profile,
                       openOutput(options.profile, options));
  warnAboutThreads("mtp-bench", options.session.threads, usableProcessors());
  MTP_ASSIGN_OR_RETURN(Results results, measure(options));
  // If one output fails, the other is still written. Standard output comes
  // last: it may be a pipe that ends this process.
  Status status;
  auto note = [&status](Status written) {
    if (status.isOk())
      status = std::move(written);
  };
  if (profile)
    note(profile->commit(traceReport(profiledPoint(results, options),
                                     /*isGpu=*/results.threads == 0)));
  note(writeStandardOutput(options.json ? jsonReport(results, options)
                                        : textReport(results, options),
                           "the report"));
  return status;
}

int main(int argc, char **argv) {
  CLI::App app("Measure an artifact of mtpc on this machine", "mtp-bench");
  app.footer(kExamples);
  Options options;
  ServeFlags serve;
  options.progress = ::isatty(STDERR_FILENO);
  addFlags(app, options, serve);
  return toolMain(
      app, argc, argv, [&] { return checkFlags(app, options, serve); },
      [&] {
        return serve.isGiven() ? runServe(serve, options) : run(options);
      });
}
