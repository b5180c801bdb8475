//===- Report.h - What a profile decides ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_REPORT_H
#define MTP_TOOLS_MTP_TUNE_REPORT_H

#include "runtime/profile/Alternatives.h"
#include "runtime/profile/Profile.h"

#include <string>

namespace mtp::tune {

/// Returns the probability that the best other value is faster in the mean, if
/// errors have a normal distribution.
double confidenceOf(const profile::TunedChoice &choice);

/// Returns the decisions of all machines as a table, and as JSON for
/// mtp-tune-chart.
std::string reportText(const profile::Profile &profile);
std::string reportJson(const profile::Profile &profile);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_REPORT_H
