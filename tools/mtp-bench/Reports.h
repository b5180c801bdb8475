//===- Reports.h - Results as text, JSON, trace and picture -----*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORTS_H
#define MTP_TOOLS_MTP_BENCH_REPORTS_H

#include "tools/mtp-bench/Results.h"

namespace mtp::bench {

/// Tables for people.
std::string textReport(const Results &results, const Options &options);

/// One JSON object; README.md lists its keys.
std::string jsonReport(const Results &results, const Options &options);

/// One round in the Chrome trace format: a track for each worker, or
/// for the GPU.
std::string traceReport(const Point &point, bool isGpu = false);

/// One round, and time against rows, context and batch, as an SVG.
std::string svgReport(const Results &results, const Options &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORTS_H
