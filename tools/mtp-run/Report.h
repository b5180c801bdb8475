//===- Report.h - Statistics of a run ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_REPORT_H
#define MTP_TOOLS_MTP_RUN_REPORT_H

#include "mtp/session.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp {

/// A round of a sequence: what it drafted, and the tokens that it gave.
struct DraftRound {
  SeenDrafts drafts;
  std::vector<int32_t> tokens;
};

/// One prompt of a run. Its output and statistics are the session's.
struct SequenceReport {
  size_t index = 0;
  /// Where its prompt is from.
  std::string source;
  SequenceId id = 0;
  size_t promptTokens = 0;
  /// Of an artifact without a tokenizer: none.
  std::optional<std::string> text;
  Status error;
  /// What the updates had of the outputs that were asked for.
  std::vector<OutputRows> outputs;
  /// Of a run that asks for them.
  std::vector<DraftRound> rounds;
};

/// What a run was, beside its session's numbers.
struct RunReport {
  /// The model's name, or else the artifact's.
  std::string model;
  SamplingParams sampling;
  /// No flag changed what the model's authors recommend.
  bool samplingIsModels = false;
  /// Sequences say what each round drafted.
  bool hasRounds = false;
  std::vector<SequenceReport> sequences;
};

/// Everything as one JSON object; README.md lists its keys. Rates are null when
/// nothing was timed.
Result<std::string> jsonReport(const Session &session, const RunReport &report);

/// A few lines for people.
std::string textReport(const Session &session, const RunReport &report);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_REPORT_H
