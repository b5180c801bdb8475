//===- Report.h - Numbers of a run ------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_REPORT_H
#define MTP_TOOLS_MTP_RUN_REPORT_H

#include "mtp/session.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp {

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
};

/// What a run was, beside its session's numbers.
struct RunReport {
  /// The model's name, or else the artifact's.
  std::string model;
  SamplingParams sampling;
  /// No flag changed what the model's authors recommend.
  bool samplingIsModels = false;
  std::vector<SequenceReport> sequences;
};

/// Everything as one JSON object; README.md lists its keys. Rates are null when
/// nothing was timed.
std::string jsonReport(const Session &session, const RunReport &report);

/// A few lines for people.
std::string textReport(const Session &session, const RunReport &report);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_REPORT_H
