//===- Report.h - Numbers of a run ------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_REPORT_H
#define MTP_TOOLS_MTP_RUN_REPORT_H

#include "mtp/session.h"

#include <string>
#include <vector>

namespace mtp {

/// One prompt of a run. Its output and statistics are the session's.
struct SequenceReport {
  size_t index = 0;
  SequenceId id = 0;
  size_t promptTokens = 0;
  std::string text;
  Status error;
};

/// Everything as one JSON object. Rates are null when nothing was timed.
std::string jsonReport(const Session &session,
                       const std::vector<SequenceReport> &reports);

/// A few lines for people.
std::string textReport(const Session &session);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_REPORT_H
