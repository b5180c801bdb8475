//===- mtp-run.cpp - Run an artifact --------------------------------------===//
//
// Exit status: 0 success, 1 the run failed or a result differs, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-run/Generate.h"
#include "tools/mtp-run/Perplexity.h"
#include "tools/mtp-run/RunFunction.h"
#include "tools/support/Flags.h"

#include <cstdio>

using namespace mtp;

// A flag that may be repeated takes one value each time: what follows it is the
// artifact, not another value.

static void addGenerationFlags(CLI::App &app, RunOptions &o) {
  app.add_option("--prompt,-p", o.prompts,
                 "Text to go on with; repeat it for a batch")
      ->allow_extra_args(false);
  app.add_option("--prompt-file", o.promptFiles, "File of such a text")
      ->allow_extra_args(false);
  app.add_option("--ids", o.ids, "Prompt as token ids, e.g. 1,2,3")
      ->allow_extra_args(false);
  app.add_option(
      "--max-tokens,-n", o.maxTokens,
      "Tokens to generate (default: 128, or what the context leaves)");
  app.add_option("--temperature", o.sampling.temperature,
                 "Divides the logits (default 0: greedy)");
  app.add_option("--top-k", o.sampling.topK,
                 "Keep this many likeliest tokens (0: all)");
  app.add_option("--top-p", o.sampling.topP,
                 "Keep the likeliest tokens up to this share (1: all)");
  app.add_option("--min-p", o.sampling.minP,
                 "Drop tokens less likely than this times the likeliest");
  app.add_option("--seed", o.sampling.seed, "Seed of all random choices")
      ->check(checkSeed);
  app.add_option("--stop-id", o.stopTokens, "Token id that ends the text, too")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", o.ignoreEos,
               "Go on behind the model's end tokens");
  app.add_flag("--no-special", o.noSpecial,
               "Do not add the model's start tokens to a prompt");
  app.add_flag("--print-ids", o.printIds, "Print token ids instead of text");
  app.add_flag("--json", o.json, "Print one JSON object instead of text");
  app.add_flag("--stats", o.stats, "Print times and acceptance to stderr");
}

static void addSessionFlags(CLI::App &app, SessionOptions &o) {
  app.add_option("--k,-k", o.k,
                 "Drafts in a round (default: the most there can be)");
  addThreadFlags(app, o.threads, o.pinThreads);
  app.add_option("--kv-pages", o.kvPages,
                 "KV pages (0: enough for all slots at full context)");
  app.add_option("--max-slots", o.maxSlots,
                 "Sequences at a time (0: the most there can be)");
  app.add_option("--prefill-chunk", o.prefillChunk,
                 "Prompt rows at a time (0: the artifact's default)");
  app.add_flag("!--no-prefix-cache", o.prefixCache,
               "Do not share pages of equal prompts");
}

static void addScoringFlags(CLI::App &app, RunOptions &o) {
  app.add_flag("--perplexity", o.perplexity,
               "Print how well the model predicts the prompts, and generate "
               "nothing");
  app.add_option("--window", o.window,
                 "Tokens that are scored together (default: the context)");
}

static void addFunctionFlags(CLI::App &app, RunOptions &o) {
  app.add_option("--function", o.function,
                 "Run this exported function, e.g. @accept");
  app.add_option("--input", o.inputs,
                 "Argument, e.g. 2x4xi32=[[..]] or @file.npy")
      ->allow_extra_args(false);
  app.add_option("--expected-output", o.expected, "What a result must be")
      ->allow_extra_args(false);
  app.add_option("--output", o.outputs, "Store a result, @file.npy")
      ->allow_extra_args(false);
  app.add_option("--tolerance", o.tolerance,
                 "How far a result may be off (default 0)");
}

static Status run(const RunOptions &options) {
  bool scores = options.perplexity;
  if (scores && !options.function.empty())
    return invalidArgument("expected --perplexity or --function, got both");
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, options.load));
  MTP_ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      Session::create(model, scores ? scoringOptions(options.session)
                                    : options.session));
  if (scores)
    return printPerplexity(*session, options);
  return options.function.empty() ? generate(*session, options)
                                  : runFunction(*session, options);
}

int main(int argc, char **argv) {
  CLI::App app("Run an artifact of mtpc: generate text, or run a function");
  RunOptions options;
  app.add_option("artifact", options.artifact, "File that mtpc wrote")
      ->required();
  addCopyFlag(app, options.load.copy);
  addGenerationFlags(app, options);
  addSessionFlags(app, options.session);
  addScoringFlags(app, options);
  addFunctionFlags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  if (Status status = run(options); !status.isOk()) {
    std::fprintf(stderr, "mtp-run: error: %.*s\n", int(status.message().size()),
                 status.message().data());
    return 1;
  }
  return 0;
}
