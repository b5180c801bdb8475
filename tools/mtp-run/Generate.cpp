//===- Generate.cpp - Text generation of mtp-run --------------------------===//

#include "tools/mtp-run/Generate.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/program/RequestPorts.h"
#include "runtime/tokenizer/BadWordTokens.h"
#include "runtime/tokenizer/StreamDecoder.h"
#include "tools/mtp-run/Constraint.h"
#include "tools/mtp-run/Interrupt.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/mtp-run/Report.h"
#include "tools/mtp-run/tensors/TensorLiteral.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

using namespace mtp;

namespace {
/// Prints the output: of one sequence as it is generated, of several when they
/// end, in the order of their prompts.
class Printer {
public:
  Printer(const RunOptions &options, const Tokenizer *tokenizer)
      : options(options), tokenizer(tokenizer) {}

  void begin(const std::vector<SequenceReport> &reports);
  Status update(std::vector<SequenceReport> &reports, SequenceReport &report,
                const SequenceUpdate &update);

private:
  Status append(SequenceReport &report, const SequenceUpdate &update);
  Status printEnded(const std::vector<SequenceReport> &reports);
  Status print(std::string_view text) const;

  const RunOptions &options;
  /// Null: print ids.
  const Tokenizer *tokenizer;
  bool streaming = false;
  std::map<SequenceId, StreamDecoder> decoders;
  /// The printed form of each sequence: text or ids.
  std::vector<std::string> shown;
  std::vector<bool> ended;
  /// All sequences before this one are printed.
  size_t next = 0;
};
} // namespace

Status Printer::print(std::string_view text) const {
  return options.json ? okStatus()
                      : writeStandardOutput(text, "what was generated");
}

void Printer::begin(const std::vector<SequenceReport> &reports) {
  streaming = reports.size() == 1;
  shown.resize(reports.size());
  ended.resize(reports.size());
  for (const SequenceReport &report : reports) {
    if (!tokenizer)
      continue;
    DecodeOptions decode;
    // The output continues a text that the prompt has begun.
    decode.atTextStart = false;
    decoders.emplace(report.id, StreamDecoder(*tokenizer, decode));
  }
}

/// Appends the text, which the report needs, and the ids if they are printed.
Status Printer::append(SequenceReport &report, const SequenceUpdate &update) {
  std::string text, ids;
  for (int32_t token : update.tokens) {
    bool isFirst = shown[report.index].empty() && ids.empty();
    ids += strCat(isFirst ? "" : " ", token);
    if (!tokenizer)
      continue;
    MTP_ASSIGN_OR_RETURN(std::string piece,
                         decoders.at(report.id).append(token));
    text += piece;
  }
  if (tokenizer && update.finish != FinishReason::None)
    text += decoders.at(report.id).finish();
  const std::string &piece = tokenizer && !options.printIds ? text : ids;
  shown[report.index] += piece;
  if (tokenizer)
    report.text = report.text.value_or("") + text;
  return streaming ? print(piece) : okStatus();
}

Status Printer::printEnded(const std::vector<SequenceReport> &reports) {
  for (; next < reports.size() && ended[next]; ++next) {
    const SequenceReport &report = reports[next];
    bool isFile = report.source.find(' ') != std::string::npos;
    if (!streaming)
      MTP_RETURN_IF_ERROR(print(strCat(
          "--- prompt ", report.index,
          isFile ? strCat(" (", report.source, ")") : "", "\n", shown[next])));
    MTP_RETURN_IF_ERROR(print("\n"));
  }
  return okStatus();
}

Status Printer::update(std::vector<SequenceReport> &reports,
                       SequenceReport &report, const SequenceUpdate &update) {
  MTP_RETURN_IF_ERROR(append(report, update));
  ended[report.index] = update.finish != FinishReason::None;
  return printEnded(reports);
}

/// Returns the number of tokens to generate if the user gives none.
static uint32_t defaultMaxTokens(const Model &model, size_t prompt) {
  uint32_t context = model.envelope()->maxContext;
  return prompt < context ? uint32_t(std::min<size_t>(128, context - prompt))
                          : 1;
}

/// Returns the inputs of prompt `index`, from flags "[PROMPT:]NAME=TENSOR".
static Result<std::vector<RequestInput>>
inputsOf(const std::vector<std::string> &flags, size_t index, size_t prompts) {
  std::vector<RequestInput> inputs;
  for (const std::string &flag : flags) {
    size_t equals = flag.find('=');
    if (equals == flag.npos)
      return invalidArgument(
          strCat("expected --request-input NAME=TENSOR, got '", flag, "'"));
    std::string name = flag.substr(0, equals);
    if (size_t colon = name.find(':'); colon != name.npos) {
      size_t prompt = prompts;
      auto [end, error] =
          std::from_chars(name.data(), name.data() + colon, prompt);
      if (end != name.data() + colon || prompt >= prompts)
        return invalidArgument(
            strCat("expected --request-input of prompt 0 to ", prompts - 1,
                   ", got '", name.substr(0, colon), "'"));
      if (prompt != index)
        continue;
      name = name.substr(colon + 1);
    }
    Result<Tensor> value = parseTensor(flag.substr(equals + 1));
    if (!value)
      return value.status().withContext(strCat("--request-input ", name));
    inputs.push_back({name, std::move(*value)});
  }
  return inputs;
}

/// Reads "TOKEN=NUMBER".
static Result<TokenBias> readBias(const std::string &text) {
  TokenBias entry;
  const char *end = text.data() + text.size();
  auto token = std::from_chars(text.data(), end, entry.token);
  bool isWhole =
      token.ec == std::errc() && token.ptr != end && *token.ptr == '=';
  if (isWhole) {
    auto bias = std::from_chars(token.ptr + 1, end, entry.bias);
    isWhole = bias.ec == std::errc() && bias.ptr == end;
  }
  if (!isWhole)
    return invalidArgument(
        strCat("--logit-bias: expected TOKEN=NUMBER, got '", text, "'"));
  return entry;
}

Result<LogitRules> mtp::rulesOf(const RunOptions &options, const Model &model,
                                const Tokenizer *tokenizer) {
  LogitRules rules = options.rules;
  rules.repetitionPenalty =
      options.repetitionPenalty.value_or(model.generation().repetitionPenalty);
  for (const std::string &text : options.biases) {
    MTP_ASSIGN_OR_RETURN(TokenBias entry, readBias(text));
    rules.bias.push_back(entry);
  }
  for (uint32_t token : options.allowedTokens)
    rules.allowedTokens.push_back(
        int32_t(std::min(token, uint32_t(INT32_MAX))));
  if (!options.badWords.empty() && !tokenizer)
    return failedPrecondition("--bad-word: expected an artifact with a "
                              "tokenizer, got one without");
  for (const std::string &word : options.badWords) {
    Status added = addBadWord(*tokenizer, word, rules.badWords);
    if (!added.isOk())
      return added.withContext(strCat("--bad-word '", word, "'"));
  }
  return rules;
}

/// Adds a sequence for each prompt. `common` has the sampling parameters and
/// the rules.
static Result<std::vector<SequenceReport>>
addAll(Session &session, const RunOptions &options, const Request &common,
       const RunGrammar &grammar, std::vector<Prompt> prompts) {
  std::vector<SequenceReport> reports;
  for (Prompt &prompt : prompts) {
    SequenceReport report;
    report.index = reports.size();
    report.source = std::move(prompt.source);
    report.promptTokens = prompt.ids.size();
    Request request = common;
    request.maxTokens = options.maxTokens.value_or(
        defaultMaxTokens(*session.model(), prompt.ids.size()));
    MTP_ASSIGN_OR_RETURN(request.constraint, grammar.afterPrompt(prompt.ids));
    request.prompt = std::move(prompt.ids);
    request.stopTokens.assign(options.stopTokens.begin(),
                              options.stopTokens.end());
    request.ignoreEos = options.ignoreEos;
    request.minTokens = options.minTokens;
    MTP_ASSIGN_OR_RETURN(
        request.inputs,
        inputsOf(options.requestInputs, report.index, prompts.size()));
    request.outputs = options.requestOutputs;
    request.logprobs = options.logprobs;
    request.seesDrafts = options.draftRounds;
    Result<SequenceId> id = session.add(std::move(request));
    if (!id)
      return id.status().withContext(strCat("prompt ", report.index));
    report.id = *id;
    reports.push_back(std::move(report));
  }
  return reports;
}

/// Ends sequences that still run, and prints their output so far.
static Status cancelAll(Session &session, Printer &printer,
                        std::vector<SequenceReport> &reports) {
  for (SequenceReport &report : reports) {
    MTP_ASSIGN_OR_RETURN(FinishReason reason, session.finishReason(report.id));
    if (reason != FinishReason::None)
      continue;
    MTP_RETURN_IF_ERROR(session.cancel(report.id));
    SequenceUpdate update;
    update.id = report.id;
    update.finish = FinishReason::Cancelled;
    MTP_RETURN_IF_ERROR(printer.update(reports, report, update));
  }
  return okStatus();
}

/// Appends the rows of an update to the rows of earlier updates.
static void addOutputs(SequenceReport &report, const SequenceUpdate &update) {
  if (report.outputs.empty()) {
    report.outputs = update.outputs;
    return;
  }
  for (size_t i = 0; i < update.outputs.size(); ++i)
    appendRows(report.outputs[i], update.outputs[i]);
}

/// Appends the log-probabilities of an update.
static void addLogprobs(SequenceReport &report, const SequenceUpdate &update) {
  report.logprobs.insert(report.logprobs.end(), update.logprobs.begin(),
                         update.logprobs.end());
  report.promptLogprobs.insert(report.promptLogprobs.end(),
                               update.promptLogprobs.begin(),
                               update.promptLogprobs.end());
}

/// Adds the rounds of an update. Tokens belong to the round whose drafts came
/// last, unless that round has tokens already: the first token of a sequence
/// comes from its prefill.
static void addRounds(SequenceReport &report, const SequenceUpdate &update) {
  if (!report.rounds.empty() && report.rounds.back().tokens.empty())
    report.rounds.back().tokens = update.tokens;
  if (update.seen)
    report.rounds.push_back({*update.seen, {}});
}

static Status runAll(Session &session, Printer &printer,
                     std::vector<SequenceReport> &reports) {
  catchInterrupt();
  while (!session.idle()) {
    if (wasInterrupted())
      return cancelAll(session, printer, reports);
    MTP_ASSIGN_OR_RETURN(std::vector<SequenceUpdate> updates, session.step());
    for (const SequenceUpdate &update : updates) {
      auto report =
          std::find_if(reports.begin(), reports.end(),
                       [&](const auto &r) { return r.id == update.id; });
      report->error = update.error;
      addOutputs(*report, update);
      addLogprobs(*report, update);
      addRounds(*report, update);
      MTP_RETURN_IF_ERROR(printer.update(reports, *report, update));
    }
  }
  // Count the rounds of which all tokens were read once they have ended.
  return session.step().status();
}

Status mtp::checkStopTokens(const RunOptions &options, const Model &model) {
  uint32_t vocab = model.envelope()->vocab;
  for (uint32_t token : options.stopTokens)
    if (token >= vocab)
      return invalidArgument(
          strCat("expected --stop-id of 0 to ", vocab - 1, ", got ", token));
  return okStatus();
}

/// Returns the model's name, or else the file's.
static std::string nameOf(const Model &model, const std::string &path) {
  return model.name().empty() ? std::filesystem::path(path).stem().string()
                              : std::string(model.name());
}

Status mtp::generate(Session &session, const RunOptions &options) {
  const Model &model = *session.model();
  if (!model.envelope())
    return failedPrecondition("the artifact has functions only; give "
                              "--function");
  MTP_RETURN_IF_ERROR(checkStopTokens(options, model));
  if (options.draftRounds && !model.showsDrafts())
    return failedPrecondition("--draft-rounds: expected an artifact whose "
                              "rounds may stop (mtp.await_host), got one "
                              "without");
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  MTP_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                       readPrompts(options, model, tokenizer.get()));
  MTP_ASSIGN_OR_RETURN(RunGrammar grammar,
                       RunGrammar::read(options, model, tokenizer.get()));
  RunReport report;
  report.model = nameOf(model, options.artifact);
  report.sampling = settleSampling(options.sampling, model.generation());
  report.samplingIsModels = options.sampling.isModels();
  report.hasRounds = options.draftRounds;
  report.logprobs = options.logprobs;
  Request common;
  common.sampling = report.sampling;
  MTP_ASSIGN_OR_RETURN(common.rules, rulesOf(options, model, tokenizer.get()));
  MTP_ASSIGN_OR_RETURN(report.sequences, addAll(session, options, common,
                                                grammar, std::move(prompts)));
  Printer printer(options, tokenizer.get());
  printer.begin(report.sequences);
  MTP_RETURN_IF_ERROR(runAll(session, printer, report.sequences));
  if (options.json) {
    MTP_ASSIGN_OR_RETURN(std::string json, jsonReport(session, report));
    MTP_RETURN_IF_ERROR(writeStandardOutput(json + "\n", "the JSON"));
  } else if (options.logprobs.output || options.logprobs.prompt) {
    MTP_RETURN_IF_ERROR(writeStandardOutput(
        logprobsText(report, tokenizer.get()), "the log-probabilities"));
  }
  if (options.stats)
    std::fprintf(stderr, "%s", textReport(session, report).c_str());
  for (const SequenceReport &sequence : report.sequences)
    if (!sequence.error.isOk())
      return sequence.error.withContext(strCat("prompt ", sequence.index));
  return okStatus();
}
