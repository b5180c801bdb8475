//===- LoadReport.h - Results of a load test --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H
#define MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H

#include "tools/mtp-bench/serve/Driver.h"

#include <map>
#include <string>

namespace mtp::bench {

/// Seconds at three quantiles, and the maximum; NaN without values.
struct Spread {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double most = 0;
};

struct LoadSummary {
  /// Requests that were answered completely, and the others by reason.
  uint64_t answered = 0;
  std::map<std::string, uint64_t> errors;
  /// Tokens of the answered requests.
  uint64_t promptTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t outputTokens = 0;
  double tokensPerSecond = 0;
  double requestsPerSecond = 0;
  /// Time from a request's due time to the first part of its answer.
  Spread firstToken;
  /// Times between the parts of an answer, as a reader experiences them.
  Spread between;
  /// For each request, the time from its first part to its last, divided by the
  /// tokens between.
  Spread perToken;
  /// Time from a request's due time to the last part of its answer.
  Spread whole;
  /// The load generator's share of one processor.
  double generatorShare = 0;
};

LoadSummary summarize(const LoadResult &result);

std::string loadText(const LoadSummary &summary, const LoadResult &result,
                     const TrafficOptions &options);
std::string loadJson(const LoadSummary &summary, const LoadResult &result,
                     const TrafficOptions &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H
