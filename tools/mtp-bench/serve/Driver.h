//===- Driver.h - Send requests and time the answers ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H
#define MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H

#include "tools/mtp-bench/serve/LoadPlan.h"

#include <string>
#include <vector>

namespace mtp::bench {

/// What became of a request; times are in seconds from the load's start.
struct RequestRecord {
  /// Of an open loop when it arrived, which counts, of a closed one when it was
  /// sent.
  double due = 0;
  /// Of the first and the last event that brought a part of the answer.
  double first = 0;
  double last = 0;
  /// Between such events, one less than there were.
  std::vector<double> gaps;
  uint64_t promptTokens = 0;
  uint64_t outputTokens = 0;
  uint64_t cachedTokens = 0;
  /// Why it was not answered to its end; empty: it was.
  std::string error;
};

struct LoadResult {
  std::vector<RequestRecord> records;
  double seconds = 0;
  /// Processor time of this process meanwhile.
  double cpuSeconds = 0;
};

/// Runs a load to its end, on one thread that sleeps while nothing comes.
/// Requests that fail are in the records; an error is that the load could not
/// be run at all.
Result<LoadResult> runLoad(const TrafficOptions &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H
