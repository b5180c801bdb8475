//===- Report.h - Statistics of a run ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_REPORT_H
#define MTP_TOOLS_MTP_RUN_REPORT_H

#include "mtp/session.h"
#include "mtp/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp {

/// A round of a sequence: its drafts and its output tokens.
struct DraftRound {
  SeenDrafts drafts;
  std::vector<int32_t> tokens;
};

/// One prompt of a run. Its output and statistics are in the session.
struct SequenceReport {
  size_t index = 0;
  /// The source of its prompt.
  std::string source;
  SequenceId id = 0;
  size_t promptTokens = 0;
  /// Empty if the artifact has no tokenizer.
  std::optional<std::string> text;
  Status error;
  /// The rows of the requested outputs from all updates.
  std::vector<OutputRows> outputs;
  /// Log-probabilities of the output and of the prompt after its first token,
  /// if the run asks for them.
  std::vector<TokenLogprobs> logprobs, promptLogprobs;
  /// Filled if the run asks for rounds.
  std::vector<DraftRound> rounds;
};

/// Properties of a run that the session does not have.
struct RunReport {
  /// The model's name, or else the artifact's.
  std::string model;
  SamplingParams sampling;
  /// True if no flag changed the sampling that the model's authors recommend.
  bool samplingIsModels = false;
  /// True if sequences list the drafts of each round.
  bool hasRounds = false;
  /// The log-probabilities that the run asks for.
  LogprobsRequest logprobs;
  std::vector<SequenceReport> sequences;
};

/// Returns everything as one JSON object; JSON.md lists its keys. Rates are
/// null if nothing was timed.
Result<std::string> jsonReport(const Session &session, const RunReport &report);

/// Returns the log-probabilities as text, one line for each token. Tokens are
/// shown as ids if `tokenizer` is null.
std::string logprobsText(const RunReport &report, const Tokenizer *tokenizer);

/// Returns a few lines of text.
std::string textReport(const Session &session, const RunReport &report);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_REPORT_H
