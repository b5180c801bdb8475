//===- LoadReport.h - Results of a load test --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H
#define MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H

#include "tools/mtp-bench/serve/Driver.h"

#include <map>
#include <string>

namespace mtp::bench {

/// Seconds at three shares of all, and the most; NaN where there were none.
struct Spread {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double most = 0;
};

struct LoadSummary {
  /// Requests that were answered to their end, and those that were not by why.
  uint64_t answered = 0;
  std::map<std::string, uint64_t> errors;
  /// Tokens of those that were answered.
  uint64_t promptTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t outputTokens = 0;
  double tokensPerSecond = 0;
  double requestsPerSecond = 0;
  /// From when a request was due to the first part of its answer.
  Spread firstToken;
  /// Between parts: what a reader waits for.
  Spread between;
  /// Of each request, from its first part to its last over the tokens between.
  Spread perToken;
  /// From when a request was due to the last part.
  Spread whole;
  /// Of one processor, what asking took.
  double generatorShare = 0;
};

LoadSummary summarize(const LoadResult &result);

std::string loadText(const LoadSummary &summary, const LoadResult &result,
                     const TrafficOptions &options);
std::string loadJson(const LoadSummary &summary, const LoadResult &result,
                     const TrafficOptions &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_LOADREPORT_H
