//===- Driver.h - Send requests and time the answers ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H
#define MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H

#include "tools/mtp-bench/serve/LoadPlan.h"

#include <string>
#include <vector>

namespace mtp::bench {

/// The record of a request; times are in seconds from the load's start.
struct RequestRecord {
  /// The arrival time in an open loop, the time of sending in a closed loop.
  double due = 0;
  /// The times of the first and the last event with a part of the answer.
  double first = 0;
  double last = 0;
  /// The times between these events, one fewer than events.
  std::vector<double> gaps;
  uint64_t promptTokens = 0;
  uint64_t outputTokens = 0;
  uint64_t cachedTokens = 0;
  /// The reason why the request was not answered completely; empty if it was.
  std::string error;
};

struct LoadResult {
  std::vector<RequestRecord> records;
  double seconds = 0;
  /// Processor time of this process during the load.
  double cpuSeconds = 0;
};

/// Runs a load to its end, on one thread that sleeps while nothing arrives.
/// Failed requests are in the records. Returns an error if the load could not
/// be run at all.
Result<LoadResult> runLoad(const TrafficOptions &options);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_DRIVER_H
