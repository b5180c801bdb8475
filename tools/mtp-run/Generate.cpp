//===- Generate.cpp - Text generation of mtp-run --------------------------===//

#include "tools/mtp-run/Generate.h"
#include "runtime/core/StrCat.h"
#include "runtime/text/StreamDecoder.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/mtp-run/Report.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace mtp;

namespace {
/// Prints what comes: one sequence as it comes, several when they end.
class Printer {
public:
  Printer(const RunOptions &options, const Tokenizer *tokenizer)
      : options(options), tokenizer(tokenizer) {}

  Status begin(const std::vector<SequenceReport> &reports);
  Status update(SequenceReport &report, const SequenceUpdate &update);

private:
  Status append(SequenceReport &report, int32_t token);
  void print(std::string_view text) const;

  const RunOptions &options;
  /// Null: print ids.
  const Tokenizer *tokenizer;
  bool streaming = false;
  std::map<SequenceId, StreamDecoder> decoders;
};
} // namespace

void Printer::print(std::string_view text) const {
  if (options.json)
    return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Status Printer::begin(const std::vector<SequenceReport> &reports) {
  streaming = reports.size() == 1;
  for (const SequenceReport &report : reports) {
    if (!tokenizer)
      continue;
    DecodeOptions decode;
    // The output goes on a text that the prompt has begun.
    decode.atTextStart = false;
    decoders.emplace(report.id, StreamDecoder(*tokenizer, decode));
  }
  return okStatus();
}

Status Printer::append(SequenceReport &report, int32_t token) {
  std::string piece;
  if (tokenizer && !options.printIds) {
    MTP_ASSIGN_OR_RETURN(piece, decoders.at(report.id).append(token));
  } else {
    piece = strCat(report.text.empty() ? "" : " ", token);
  }
  report.text += piece;
  if (streaming)
    print(piece);
  return okStatus();
}

Status Printer::update(SequenceReport &report, const SequenceUpdate &update) {
  for (int32_t token : update.tokens)
    MTP_RETURN_IF_ERROR(append(report, token));
  if (update.finish == FinishReason::None)
    return okStatus();
  if (tokenizer && !options.printIds) {
    std::string rest = decoders.at(report.id).finish();
    report.text += rest;
    if (streaming)
      print(rest);
  }
  if (!streaming)
    print(strCat("--- prompt ", report.index, "\n", report.text));
  print("\n");
  return okStatus();
}

/// Tokens to generate where the user gives no number.
static uint32_t defaultMaxTokens(const Model &model, size_t prompt) {
  uint32_t context = model.envelope()->maxContext;
  return prompt < context ? uint32_t(std::min<size_t>(128, context - prompt))
                          : 1;
}

static Result<std::vector<SequenceReport>>
addAll(Session &session, const RunOptions &options,
       std::vector<std::vector<int32_t>> prompts) {
  std::vector<SequenceReport> reports;
  for (std::vector<int32_t> &prompt : prompts) {
    SequenceReport report;
    report.index = reports.size();
    report.promptTokens = prompt.size();
    Request request;
    request.maxTokens = options.maxTokens;
    if (request.maxTokens == 0)
      request.maxTokens = defaultMaxTokens(*session.model(), prompt.size());
    request.prompt = std::move(prompt);
    request.sampling = options.sampling;
    request.stopTokens = options.stopTokens;
    request.ignoreEos = options.ignoreEos;
    Result<SequenceId> id = session.add(std::move(request));
    if (!id)
      return id.status().withContext(strCat("prompt ", report.index));
    report.id = *id;
    reports.push_back(std::move(report));
  }
  return reports;
}

static Status runAll(Session &session, Printer &printer,
                     std::vector<SequenceReport> &reports) {
  while (!session.idle()) {
    MTP_ASSIGN_OR_RETURN(std::vector<SequenceUpdate> updates, session.step());
    for (const SequenceUpdate &update : updates) {
      auto report =
          std::find_if(reports.begin(), reports.end(),
                       [&](const auto &r) { return r.id == update.id; });
      report->error = update.error;
      MTP_RETURN_IF_ERROR(printer.update(*report, update));
    }
  }
  return okStatus();
}

Status mtp::generate(Session &session, const RunOptions &options) {
  const Model &model = *session.model();
  if (!model.envelope())
    return failedPrecondition("the artifact has functions only; give "
                              "--function");
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  MTP_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> prompts,
                       readPrompts(options, model, tokenizer.get()));
  MTP_ASSIGN_OR_RETURN(std::vector<SequenceReport> reports,
                       addAll(session, options, std::move(prompts)));
  Printer printer(options, tokenizer.get());
  MTP_RETURN_IF_ERROR(printer.begin(reports));
  MTP_RETURN_IF_ERROR(runAll(session, printer, reports));
  if (options.json)
    std::printf("%s\n", jsonReport(session, reports).c_str());
  if (options.stats)
    std::fprintf(stderr, "%s", textReport(session).c_str());
  for (const SequenceReport &report : reports)
    if (!report.error.isOk())
      return report.error.withContext(strCat("prompt ", report.index));
  return okStatus();
}
