//===- mtp-bench.cpp - Measure an artifact --------------------------------===//
//
// Exit status: 0 success, 1 the artifact cannot be measured so, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/Measure.h"
#include "tools/mtp-bench/Reports.h"
#include "tools/support/Flags.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace mtp;
using namespace mtp::bench;

// A list is one argument, "1,2,4": what follows it is the artifact, not another
// value.

template <typename T>
static CLI::Option *addList(CLI::App &app, const char *names,
                            std::vector<T> &values, const char *text) {
  return app.add_option(names, values, text)
      ->delimiter(',')
      ->allow_extra_args(false);
}

static void addFlags(CLI::App &app, Options &o) {
  app.add_option("artifact", o.artifact, "File that mtpc wrote")->required();
  addList(app, "--measure", o.measure,
          "Any of decode, rows, prefill, speculative (default: all)")
      ->check(CLI::IsMember({"decode", "rows", "prefill", "speculative"}));
  addList(app, "--batch,-b", o.batches, "Slots of a round (default: 1)");
  addList(app, "--context", o.contexts,
          "Tokens in each slot (default: 512, or half of what there can be)");
  addList(app, "--prefill", o.prefills, "Lengths of prompts (default: 128)");
  addList(app, "-k", o.ks, "Drafts of a round (default: 0 to all)");
  addList(app, "--acceptance", o.acceptance,
          "Simulate: share of rounds that accept draft 1, 2, ..");
  addList(app, "--ids", o.ids, "Prompt whose true acceptance to measure");
  app.add_option("--tokens", o.tokens,
                 "Tokens to generate from --ids in each turn (default: 64)");
  app.add_option("--turns", o.turns,
                 "How often all points take their turn (default: 5)");
  app.add_option("--estimate", o.estimate,
                 "What stands for the runs of a turn: median or fastest "
                 "(default: median)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Estimate>{
          {"median", Estimate::Median}, {"fastest", Estimate::Fastest}}))
      ->option_text("median|fastest");
  app.add_option("--rounds", o.rounds,
                 "Rounds in a turn (default: for a tenth of a second, or until "
                 "the fastest has come again)");
  app.add_option("--seed", o.seed, "Seed of tokens and acceptance")
      ->check(checkSeed);
  addThreadFlags(app, o.threads, o.pin);
  addCopyFlag(app, o.noMmap);
  app.add_flag("--progress,!--no-progress", o.progress,
               "Write each turn's times to stderr (default: where that is a "
               "terminal)");
  app.add_flag("--json", o.json, "Print one JSON object instead of tables");
  app.add_option("--profile", o.profile,
                 "Write a round as a Chrome trace to this file");
  app.add_option("--svg", o.svg,
                 "Write a picture of a round, and of how time grows, to this "
                 "file");
}

static Status writeFile(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool isWritten =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file)
    isWritten = std::fclose(file) == 0 && isWritten;
  return isWritten ? okStatus()
                   : invalidArgument(strCat("cannot write '", path,
                                            "': ", std::strerror(errno)));
}

static Status run(Options &options) {
  MTP_ASSIGN_OR_RETURN(Results results, measure(options));
  if (!options.profile.empty() || !options.svg.empty()) {
    if (results.points.empty())
      return invalidArgument("expected --measure=decode, rows or speculative "
                             "without --ids for --profile and --svg");
    if (!options.profile.empty())
      MTP_RETURN_IF_ERROR(writeFile(
          options.profile, traceReport(profiledPoint(results, options))));
    if (!options.svg.empty())
      MTP_RETURN_IF_ERROR(writeFile(options.svg, svgReport(results, options)));
  }
  std::string report = options.json ? jsonReport(results, options)
                                    : textReport(results, options);
  std::fputs(report.c_str(), stdout);
  return okStatus();
}

int main(int argc, char **argv) {
  CLI::App app("Measure an artifact of mtpc on this machine");
  Options options;
  options.progress = ::isatty(STDERR_FILENO);
  addFlags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  if (Status status = run(options); !status.isOk()) {
    std::fprintf(stderr, "mtp-bench: error: %.*s\n",
                 int(status.message().size()), status.message().data());
    return 1;
  }
  return 0;
}
