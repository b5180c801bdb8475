//===- ServeFlags.cpp - Flags of mtp-bench --serve ------------------------===//

#include "tools/mtp-bench/ServeFlags.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/serve/LoadReport.h"
#include "tools/support/Flags.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace mtp;
using namespace mtp::bench;

/// Flags that need --serve, and flags that may accompany it.
static constexpr std::array kServeFlags = {
    "--clients", "--rate",    "--requests",     "--prompt-ids",
    "--vocab",   "--prompts", "--least-tokens", "--model",
    "--field",   "--api-key", "--timeout"};
static constexpr std::array kShared = {"--serve", "--max-tokens", "--seed",
                                       "--temperature", "--json"};

static void addRequestFlags(CLI::App &app, ServeFlags &flags) {
  TrafficOptions &load = flags.load;
  addOption(app, "--prompt-ids", "N|N-M",
            "Number of random ids in a prompt of --serve (default: 32)",
            /*repeats=*/false,
            [&load](const std::string &name, const std::string &text) {
              Result<Range> range = parseRange(name, text);
              if (!range)
                throw CLI::ValidationError(
                    std::string(range.status().message()));
              load.promptTokens = *range;
            });
  addNumber(app, "--vocab", load.vocab,
            "Ids of prompts are below this (default: 1000)");
  addText(app, "--prompts", flags.promptFile, "FILE",
          "Prompts as text, one per line; each request has one of them");
  addNumber(app, "--least-tokens", load.outputTokens.least,
            "Least tokens of an answer; --max-tokens is the most (default: all "
            "answers have --max-tokens)");
  addText(app, "--model", load.model, "NAME",
          "Name of the model, if the server requires it");
  addOption(
      app, "--field", "NAME=VALUE",
      "A further field of each request, such as k=2 or cache_prompt=false",
      /*repeats=*/true, [&load](const std::string &, const std::string &text) {
        if (Status status = readField(text, load); !status.isOk())
          throw CLI::ValidationError(std::string(status.message()));
      });
  addText(app, "--api-key", load.key, "KEY", "The server's key");
}

void bench::addServeFlags(CLI::App &app, ServeFlags &flags) {
  TrafficOptions &load = flags.load;
  load.outputTokens.least = 0;
  addText(app, "--serve", load.url, "URL",
          "Send requests to a server of OpenAI's API at http://HOST:PORT "
          "instead of measuring an artifact");
  addNumber(app, "--clients", load.clients,
            "Closed loop: clients that send a request after each answer "
            "(default: 1)");
  addNumber(app, "--rate", load.rate,
            "Open loop: requests per second, independent of answers");
  addNumber(app, "--requests", load.requests,
            "Requests of --serve (default: 64)");
  addRequestFlags(app, flags);
  addNumber(
      app, "--timeout", load.timeoutSeconds,
      "Seconds without a byte after which a request fails (default: 300)");
}

template <size_t N>
static bool isOneOf(const std::array<const char *, N> &names,
                    const CLI::Option &option) {
  return std::ranges::any_of(
      names, [&](const char *name) { return option.check_name(name); });
}

static Status checkNumbers(CLI::App &app, const ServeFlags &flags) {
  const TrafficOptions &load = flags.load;
  if (app.count("--rate") > 0 && app.count("--clients") > 0)
    return invalidArgument("expected one of --clients (closed loop) and --rate "
                           "(open loop), got both");
  if (app.count("--rate") > 0 && !(std::isfinite(load.rate) && load.rate > 0))
    return invalidArgument(
        strCat("--rate: expected requests a second above 0, got ", load.rate));
  if (load.clients == 0 || load.requests == 0 || load.timeoutSeconds == 0)
    return invalidArgument("expected --clients, --requests and --timeout above "
                           "0, got 0");
  if (load.vocab < 4)
    return invalidArgument(
        strCat("--vocab: expected 4 or more, got ", load.vocab));
  if (!flags.promptFile.empty() && app.count("--prompt-ids") > 0)
    return invalidArgument("expected one of --prompts and --prompt-ids, got "
                           "both");
  return okStatus();
}

Status bench::checkServeFlags(CLI::App &app, const ServeFlags &flags) {
  bool serves = flags.isGiven();
  for (const CLI::Option *option : app.get_options()) {
    if (option->count() == 0)
      continue;
    bool isServes = isOneOf(kServeFlags, *option);
    if (isServes && !serves)
      return invalidArgument(
          strCat("expected --serve with ", option->get_name()));
    if (serves && !isServes && !isOneOf(kShared, *option))
      return invalidArgument(
          strCat("expected no ", option->get_name(), " with --serve"));
  }
  return serves ? checkNumbers(app, flags) : okStatus();
}

static Status settleServe(ServeFlags &flags, const Options &shared) {
  TrafficOptions &load = flags.load;
  load.seed = shared.seed;
  load.temperature = shared.temperature;
  load.json = shared.json;
  load.outputTokens.most = shared.tokens;
  if (load.outputTokens.least == 0)
    load.outputTokens.least = shared.tokens;
  if (shared.tokens == 0 || load.outputTokens.least > shared.tokens)
    return invalidArgument(strCat("expected --least-tokens of 1 to --max-tokens"
                                  " (",
                                  shared.tokens, "), got ",
                                  load.outputTokens.least));
  if (!flags.promptFile.empty())
    return readPrompts(flags.promptFile, load.prompts);
  return okStatus();
}

Status bench::runServe(ServeFlags &flags, const Options &shared) {
  MTP_RETURN_IF_ERROR(settleServe(flags, shared));
  const TrafficOptions &load = flags.load;
  MTP_ASSIGN_OR_RETURN(LoadResult result, runLoad(load));
  LoadSummary summary = summarize(result);
  MTP_RETURN_IF_ERROR(writeStandardOutput(load.json
                                              ? loadJson(summary, result, load)
                                              : loadText(summary, result, load),
                                          "the report"));
  if (summary.answered == 0)
    return unavailable(
        strCat("none of ", load.requests,
               " requests was answered: ", summary.errors.begin()->first));
  return okStatus();
}
