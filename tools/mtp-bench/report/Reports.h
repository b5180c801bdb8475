//===- Reports.h - Results as text, JSON and trace --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_REPORTS_H
#define MTP_TOOLS_MTP_BENCH_REPORT_REPORTS_H

#include "tools/mtp-bench/measure/Results.h"

namespace mtp::bench {

/// Returns the results as tables.
std::string textReport(const Results &results, const Options &options);

/// Returns the results as one JSON object; REPORT.md lists its keys.
std::string jsonReport(const Results &results, const Options &options);

/// Returns one round in the Chrome trace format: a track per worker, or one for
/// the GPU.
std::string traceReport(const Point &point, bool isGpu = false);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_REPORTS_H
