//===- mtp-run.cpp - Run a model ------------------------------------------===//
//
// Exit status: 0 success, 1 the run failed or a result differs, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-run/Chat.h"
#include "tools/mtp-run/Collect.h"
#include "tools/mtp-run/Generate.h"
#include "tools/mtp-run/Interrupt.h"
#include "tools/mtp-run/Perplexity.h"
#include "tools/mtp-run/RunFunction.h"
#include "tools/start/StartFlags.h"
#include "tools/support/DrafterCheck.h"
#include "tools/support/Flags.h"
#include "tools/support/ModelWarnings.h"
#include "tools/support/Output.h"
#include "tools/support/ProfileWarnings.h"
#include "tools/support/SharedFlags.h"

using namespace mtp;

// Flags are grouped by purpose. A flag of a group that the run does not use is
// an error.
static constexpr const char *kPrompts = "Prompts";
static constexpr const char *kGeneration = "Generation";
static constexpr const char *kChat = "Chat";
static constexpr const char *kScoring = "Scoring";
static constexpr const char *kFunctions = "Functions";

static const char *const kExamples = R"(Examples:
  mtp-run SmolLM2-135M-Instruct-Q4_1.gguf --chat
  mtp-run Qwen3-8B --quantize int4 --max-context 8192 --prompt "Once"
  mtp-run --cache list
  mtp-run model.bin --prompt "Once upon a time" -k 2 -n 100 --stats
  mtp-run model.bin --prompt "Once" --prompt "Twice" -k auto --stats
  mtp-run model.bin --special --prompt-file - --temperature 0 < chat.txt
  mtp-run model.bin --chat --system "Be brief." -k 2 --color
  mtp-run model.bin --perplexity --prompt-file book.txt --window 512
  mtp-run model.bin --function=@accept --input='2x4xi32=[[..]]' --input=@b.npy
)";

static void addPromptFlags(CLI::App &app, RunOptions &o) {
  addTexts(app, "--prompt,-p", o.prompts, "TEXT",
           "Text to continue; repeat the flag for a batch")
      ->group(kPrompts);
  addTexts(app, "--prompt-file", o.promptFiles, "FILE",
           "File with such a text; - is standard input, to its end")
      ->group(kPrompts);
  addTexts(app, "--ids", o.ids, "N,..", "Prompt as token ids, e.g. 1,2,3")
      ->group(kPrompts);
  addFlag(app, "--special", o.special,
          "Read the text of special tokens in prompts as these tokens, e.g. "
          "the tokens of a chat template")
      ->group(kPrompts);
  addFlag(app, "--no-bos", o.noStartTokens,
          "Do not add the model's start tokens to a prompt")
      ->group(kPrompts);
  addFlag(app, "--no-special", o.noStartTokens, "")->group("");
}

static void addSamplingFlags(CLI::App &app, SamplingFlags &o) {
  addNumber(app, "--temperature", o.temperature,
            "Divides the logits (0: greedy; default: the model's own)")
      ->group(kGeneration);
  addNumber(app, "--top-k", o.topK,
            "Keep this many likeliest tokens (0: all; default: the model's "
            "own)")
      ->group(kGeneration);
  addNumber(app, "--top-p", o.topP,
            "Keep the likeliest tokens up to this share (1: all; default: the "
            "model's own)")
      ->group(kGeneration);
  addNumber(app, "--min-p", o.minP,
            "Drop tokens less likely than this times the likeliest (0: none; "
            "default: the model's own)")
      ->group(kGeneration);
  addNumber(app, "--seed", o.seed, "Seed of all random choices (default: 0)")
      ->group(kGeneration);
}

static void addLogprobsFlags(CLI::App &app, LogprobsRequest &o) {
  addNumber(app, "--logprobs", o.output,
            "Print each output token's log-probability and this many likeliest "
            "tokens (0 to 20)")
      ->group(kGeneration);
  addNumber(app, "--prompt-logprobs", o.prompt,
            "Likewise for each prompt token after the first")
      ->group(kGeneration);
  addChoice(
      app, "--logprobs-mode", o.mode,
      {{"raw", LogprobsMode::Raw}, {"processed", LogprobsMode::Processed}},
      "Log-probabilities of the model, or after temperature, top-k, "
      "top-p and min-p (default: raw)")
      ->group(kGeneration);
}

/// Returns an error of an empty text, which a shell makes of a missing file.
static std::string checkText(const std::string &text) {
  return text.empty() ? "expected a text, got an empty one" : "";
}

static void addRuleFlags(CLI::App &app, RunOptions &o) {
  addNumber(app, "--repetition-penalty", o.repetitionPenalty,
            "Divides positive logits of tokens of prompt and output, and "
            "multiplies others (default: the model's, or 1)")
      ->group(kGeneration);
  addNumber(app, "--presence-penalty", o.rules.presencePenalty,
            "Subtracted from the logits of tokens of the output (-2 to 2)")
      ->group(kGeneration);
  addNumber(app, "--frequency-penalty", o.rules.frequencyPenalty,
            "Subtracted for each occurrence in the output (-2 to 2)")
      ->group(kGeneration);
  addTexts(app, "--logit-bias", o.biases, "TOKEN=NUMBER",
           "Number that is added to the logit of a token id; -inf excludes it")
      ->group(kGeneration);
  addNumbers(app, "--allowed-id", o.allowedTokens,
             "Token id that may be picked (default: all)")
      ->group(kGeneration);
  addTexts(app, "--bad-word", o.badWords, "TEXT",
           "Text that the output must not have")
      ->group(kGeneration);
  addText(app, "--grammar", o.grammar, "TEXT",
          "Grammar of the output, in llama.cpp's GBNF")
      ->check(checkText)
      ->group(kGeneration);
  addText(app, "--grammar-file", o.grammarFile, "FILE",
          "File with a grammar of the output")
      ->group(kGeneration);
  addText(app, "--json-schema", o.jsonSchema, "TEXT",
          "JSON Schema of the output")
      ->check(checkText)
      ->group(kGeneration);
  addText(app, "--json-schema-file", o.jsonSchemaFile, "FILE",
          "File with a JSON Schema of the output")
      ->group(kGeneration);
  addNumber(app, "--min-tokens", o.minTokens,
            "Tokens before which nothing ends the text (default: 0)")
      ->group(kGeneration);
}

static void addGenerationFlags(CLI::App &app, RunOptions &o) {
  addNumber(app, "--max-tokens,-n", o.maxTokens,
            "Tokens to generate, at least 1 (default: 128, or the rest of the "
            "context)")
      ->group(kGeneration);
  addSamplingFlags(app, o.sampling);
  addLogprobsFlags(app, o.logprobs);
  addRuleFlags(app, o);
  addNumbers(app, "--stop-id", o.stopTokens,
             "Further token id that ends the text")
      ->group(kGeneration);
  addFlag(app, "--ignore-eos", o.ignoreEos,
          "Continue after the model's end tokens")
      ->group(kGeneration);
  addTexts(app, "--request-input", o.requestInputs, "NAME=TENSOR",
           "Value of an input that the model declares, e.g. bias=64xf32=0 or "
           "bias=@file.npy; 2:bias=... is for prompt 2 only")
      ->group(kGeneration);
  addTexts(app, "--request-output", o.requestOutputs, "NAME",
           "Request an output that the model declares; --json prints it")
      ->group(kGeneration);
  addFlag(app, "--draft-rounds", o.draftRounds,
          "With --json: print the drafts of each round, if the artifact's "
          "rounds may stop for the host")
      ->group(kGeneration);
  addFlag(app, "--print-ids", o.printIds, "Print token ids instead of text")
      ->group(kGeneration);
  addFlag(app, "--stats", o.stats,
          "Print times, sampling and acceptance to stderr")
      ->group(kGeneration);
  addSharedFlags(app,
                 {SharedFlag::K, SharedFlag::DraftPMin, SharedFlag::MaxBatch,
                  SharedFlag::PrefillChunk, SharedFlag::PromptMilliseconds,
                  SharedFlag::StepMilliseconds, SharedFlag::SeparatePrompts,
                  SharedFlag::RoundsPerLaunch, SharedFlag::CaptureSizes,
                  SharedFlag::Deterministic, SharedFlag::NoPrefixCache,
                  SharedFlag::SnapshotBytes, SharedFlag::SnapshotTokens},
                 o.load, o.session, kGeneration);
  addAlias(app, "--max-slots", app.get_option("--max-batch"));
}

static void addScoringFlags(CLI::App &app, RunOptions &o) {
  addFlag(app, "--perplexity", o.perplexity,
          "Print the perplexity of the prompts, and generate nothing")
      ->group(kScoring);
  addNumber(app, "--window", o.window,
            "Tokens that are scored together (default: the context)")
      ->group(kScoring);
  addText(app, "--reference", o.reference, "FILE",
          "Artifact of the unchanged model: print the mean divergence from its "
          "distributions, too")
      ->group(kScoring);
  addText(app, "--collect-activations", o.activations, "FILE",
          "Write statistics of the prompts' activations for mtpc --calibrate, "
          "from an artifact of mtpc --collect-inputs")
      ->group(kScoring);
  addNumber(app, "--sampled-texts", o.sampledTexts,
            "With --collect-activations: let the model write this many texts "
            "of --window tokens (default: 256), in place of prompts")
      ->group(kScoring);
}

static void addFunctionFlags(CLI::App &app, RunOptions &o) {
  addText(app, "--function", o.function, "NAME",
          "Run this exported function, e.g. @accept")
      ->group(kFunctions);
  addTexts(app, "--input", o.inputs, "TENSOR",
           "Argument, e.g. 2x4xi32=[[..]] or @file.npy")
      ->group(kFunctions);
  addTexts(app, "--expected-output", o.expected, "TENSOR",
           "Expected value of a result")
      ->group(kFunctions);
  addTexts(app, "--output", o.outputs, "@FILE", "Store a result, @file.npy")
      ->group(kFunctions);
  addNumber(app, "--tolerance", o.tolerance,
            "Allowed difference of a result (default: 0)")
      ->group(kFunctions);
}

static void addChatFlags(CLI::App &app, RunOptions &o) {
  addFlag(app, "--chat", o.chat,
          "Talk with the model: questions from standard input, /help lists "
          "commands");
  addText(app, "--system", o.system, "TEXT",
          "System message at the start of the conversation")
      ->group(kChat);
  addText(app, "--chat-template", o.chatTemplate, "FILE",
          "Jinja template that replaces the artifact's template")
      ->group(kChat);
  addText(app, "--chat-template-kwargs", o.templateVariables, "JSON",
          "Variables for the template, e.g. {\"enable_thinking\": false}")
      ->group(kChat);
  std::vector<std::pair<std::string, std::optional<ReasoningFormat>>> formats =
      {{"auto", std::nullopt}};
  for (std::string_view name : reasoningFormatNames())
    formats.emplace_back(name, findReasoningFormat(name));
  addChoice(
      app, "--reasoning", o.reasoning, formats,
      "Marks of reasoning in the model's text (auto: found by its template)")
      ->group(kChat);
  addText(app, "--tools", o.tools, "FILE",
          "Tools that answers may call, as JSON in the form of OpenAI's chats; "
          "calls are printed as [call] NAME ARGUMENTS")
      ->group(kChat);
  std::vector<std::pair<std::string, std::optional<ToolFormat>>> parsers = {
      {"auto", std::nullopt}};
  for (std::string_view name : toolFormatNames())
    parsers.emplace_back(name, findToolFormat(name));
  addChoice(app, "--tool-parser", o.toolFormat, parsers,
            "Format of tool calls (auto: found by the model's template)")
      ->group(kChat);
  addFlag(app, "--color", o.color, "Print accepted drafts in green")
      ->group(kChat);
}

static void addFlags(CLI::App &app, RunOptions &o) {
  start::addStartFlags(app, o.artifact, o.start);
  addChoice(app, "--cache", o.cache,
            {{"list", start::CacheCommand::List},
             {"clear", start::CacheCommand::Clear}},
            "Print or clear the caches of compiled models and kernels, and run "
            "nothing");
  addPromptFlags(app, o);
  addGenerationFlags(app, o);
  addChatFlags(app, o);
  addScoringFlags(app, o);
  addFunctionFlags(app, o);
  addFlag(app, "--check-drafter", o.checkDrafter,
          "Compare the drafter's acceptance with --profile, and generate "
          "nothing");
  addFlag(app, "--json", o.json,
          "Print one JSON object instead of text (tools/mtp-run/JSON.md lists "
          "its keys)");
  addSharedFlags(app,
                 {SharedFlag::Device, SharedFlag::Threads, SharedFlag::Pin,
                  SharedFlag::KvPages, SharedFlag::Profile, SharedFlag::NoMmap,
                  SharedFlag::Verify},
                 o.load, o.session);
}

/// Fails if a flag of `groups`, which has no effect in this kind of run, is
/// given.
static Status refuseGroups(CLI::App &app, const std::string &kind,
                           const std::vector<const char *> &groups) {
  for (const CLI::Option *option : app.get_options())
    for (const char *group : groups)
      if (option->count() > 0 && option->get_group() == group)
        return invalidArgument(
            strCat("expected no ", option->get_name(), kind));
  return okStatus();
}

/// Fails if a flag other than `name` is given.
static Status refuseAllBut(CLI::App &app, const std::string &name) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && option->get_name() != name)
      return invalidArgument(
          strCat("expected no ", option->get_name(), " with ", name));
  return okStatus();
}

static Status checkMaxTokens(const RunOptions &o) {
  return o.maxTokens == 0u
             ? invalidArgument("expected --max-tokens of 1 or more, got 0")
             : okStatus();
}

/// Fails if a number of likeliest tokens is out of range.
static Status checkLogprobs(const LogprobsRequest &o) {
  using Given = std::pair<const char *, std::optional<uint32_t>>;
  for (auto [flag, count] :
       {Given{"--logprobs", o.output}, Given{"--prompt-logprobs", o.prompt}})
    if (count.value_or(0) > LogprobsRequest::kMost)
      return invalidArgument(strCat("expected ", flag, " of 0 to ",
                                    LogprobsRequest::kMost, ", got ", *count));
  return okStatus();
}

static Status checkChatFlags(CLI::App &app, const RunOptions &o) {
  MTP_RETURN_IF_ERROR(
      refuseGroups(app, " with --chat", {kPrompts, kScoring, kFunctions}));
  for (const char *name : {"--json", "--print-ids", "--request-input",
                           "--request-output", "--draft-rounds", "--logprobs",
                           "--prompt-logprobs", "--max-batch", "--max-slots"})
    if (app.count(name) > 0)
      return invalidArgument(strCat("expected no ", name, " with --chat"));
  return checkMaxTokens(o);
}

/// Returns whether the run reads texts and generates nothing.
static bool scoresTexts(const RunOptions &o) {
  return o.perplexity || !o.activations.empty();
}

static Status checkRun(CLI::App &app, const RunOptions &o) {
  if (o.perplexity && !o.function.empty())
    return invalidArgument("expected --perplexity or --function, got both");
  if (o.perplexity && !o.activations.empty())
    return invalidArgument(
        "expected --perplexity or --collect-activations, got both");
  if (!o.perplexity && !o.reference.empty())
    return invalidArgument("expected --perplexity with --reference");
  if (o.checkDrafter && o.load.profile.empty())
    return invalidArgument("expected --profile with --check-drafter");
  if (o.checkDrafter)
    return refuseGroups(app, " with --check-drafter",
                        {kPrompts, kGeneration, kChat, kScoring, kFunctions});
  if (o.chat)
    return checkChatFlags(app, o);
  MTP_RETURN_IF_ERROR(refuseGroups(app, " without --chat", {kChat}));
  if (app.count("--function") > 0)
    return refuseGroups(app, " with --function",
                        {kPrompts, kGeneration, kScoring});
  MTP_RETURN_IF_ERROR(refuseGroups(app, " without --function", {kFunctions}));
  if (scoresTexts(o))
    MTP_RETURN_IF_ERROR(refuseGroups(app,
                                     o.perplexity ? " with --perplexity"
                                                  : " with "
                                                    "--collect-activations",
                                     {kGeneration}));
  else
    MTP_RETURN_IF_ERROR(refuseGroups(app, " without --perplexity", {kScoring}));
  bool hasPrompts =
      !o.prompts.empty() || !o.promptFiles.empty() || !o.ids.empty();
  if (o.sampledTexts && (o.activations.empty() || hasPrompts))
    return invalidArgument("expected --collect-activations and no prompts "
                           "with --sampled-texts");
  if (!hasPrompts && !o.sampledTexts)
    return invalidArgument("expected --prompt, --prompt-file, --ids, --chat "
                           "or --function");
  if (o.draftRounds && !o.json)
    return invalidArgument("expected --json with --draft-rounds");
  MTP_RETURN_IF_ERROR(checkLogprobs(o.logprobs));
  return checkMaxTokens(o);
}

static Status checkFlags(CLI::App &app, RunOptions &o) {
  if (o.cache != start::CacheCommand::None)
    return refuseAllBut(app, "--cache");
  if (o.artifact.empty())
    return invalidArgument("expected an artifact, a model's folder or a GGUF "
                           "file");
  o.start.maxBatch = o.session.maxSlots;
  MTP_RETURN_IF_ERROR(start::checkStart(o.artifact, o.start));
  return checkRun(app, o);
}

static Status printCaches(start::CacheCommand command) {
  MTP_ASSIGN_OR_RETURN(std::string text, start::runCacheCommand(command));
  return writeStandardOutput(text, "the list of caches");
}

/// Compares the drafter with the profile. Fails if it is worse.
static Status printDrafterCheck(const RunOptions &options) {
  LoadOptions load = options.load;
  // The model would refuse a profile of other weights.
  load.profile.clear();
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, load));
  MTP_ASSIGN_OR_RETURN(DrafterCheckResult result,
                       checkDrafter("mtp-run", model, options.load.profile,
                                    options.session, kCheckTokens));
  if (result.isWorse)
    return failedPrecondition(result.text);
  return writeStandardOutput(result.text + "\n", "the result");
}

static Status run(RunOptions &options) {
  if (options.cache != start::CacheCommand::None)
    return printCaches(options.cache);
  MTP_ASSIGN_OR_RETURN(
      start::StartedModel artifact,
      start::findArtifact("mtp-run", options.artifact, options.start));
  options.artifact = artifact.path;
  if (options.checkDrafter)
    return printDrafterCheck(options);
  bool scores = scoresTexts(options);
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, options.load));
  MTP_ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      Session::create(model, scores         ? scoringOptions(options.session)
                             : options.chat ? chatOptions(options)
                                            : options.session));
  if (model->device() == DeviceKind::Cpu)
    warnAboutThreads("mtp-run", session->options().threads,
                     Session::usableProcessors());
  warnAboutRule("mtp-run", *model);
  noteProfile("mtp-run", *session);
  if (!scores)
    warnAboutSnapshots("mtp-run", *session);
  if (options.chat)
    return chat(*session, options);
  if (!options.activations.empty())
    return collectActivations(*session, options);
  if (scores)
    return printPerplexity(*session, options);
  return options.function.empty() ? generate(*session, options)
                                  : runFunction(*session, options);
}

int main(int argc, char **argv) {
  CLI::App app("Run a model: generate text, chat, score text, or run a "
               "function",
               "mtp-run");
  app.footer(kExamples);
  RunOptions options;
  addFlags(app, options);
  return toolMain(
      app, argc, argv, [&] { return checkFlags(app, options); },
      [&] {
        Status status = run(options);
        endIfInterrupted();
        return status;
      });
}
