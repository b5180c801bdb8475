//===- LoadPlan.h - Plan the requests of a load test ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H
#define MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtp::bench {

/// A range that includes both ends.
struct Range {
  uint32_t least = 0;
  uint32_t most = 0;
};

/// Parses "32" or "32-512".
Result<Range> parseRange(const std::string &flag, const std::string &text);

struct TrafficOptions {
  std::string url;
  /// Closed loop: the number of clients, each of which sends its next request
  /// after an answer. Unused with a rate.
  uint32_t clients = 1;
  /// Open loop: requests per second that arrive, however many wait; zero:
  /// closed.
  double rate = 0;
  uint32_t requests = 64;
  /// Tokens per prompt; ids are random from 3 up to, but excluding, `vocab`.
  Range promptTokens = {32, 32};
  uint32_t vocab = 1000;
  /// Prompts as text instead, one per request.
  std::vector<std::string> prompts;
  /// Tokens per answer.
  Range outputTokens = {64, 64};
  float temperature = 0;
  uint64_t seed = 1;
  /// The server's name for the model, if it needs one.
  std::string model;
  /// Further fields of each request, with their values as JSON.
  std::vector<std::pair<std::string, std::string>> fields;
  std::string key;
  /// A request without a byte for this time has failed.
  uint32_t timeoutSeconds = 300;
  bool json = false;
};

/// Reads one prompt per line; a file without any is an error.
Status readPrompts(const std::string &path, std::vector<std::string> &prompts);

/// Reads NAME=VALUE; the value is JSON, or else a text.
Status readField(const std::string &text, TrafficOptions &options);

/// Plans the requests. They depend only on the seed and the request's number,
/// so that two servers get equal requests, whichever is faster.
class LoadPlan {
public:
  explicit LoadPlan(const TrafficOptions &options) : options(options) {}

  /// Returns the arrival time of request `number` in an open loop, in seconds
  /// from the start. Arrivals are a Poisson process of the rate.
  double arrival(uint32_t number);
  /// Returns the body of request `number`, for /v1/completions.
  std::string body(uint32_t number) const;

private:
  const TrafficOptions &options;
  std::vector<double> arrivals;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H
