//===- LoadPlan.h - Plan the requests of a load test ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H
#define MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtp::bench {

/// Both ends are among them.
struct Range {
  uint32_t least = 0;
  uint32_t most = 0;
};

/// "32", or "32-512".
Result<Range> parseRange(const std::string &flag, const std::string &text);

struct TrafficOptions {
  std::string url;
  /// Closed loop: so many clients, each of which asks again when it has been
  /// answered. With a rate they do not count.
  uint32_t clients = 1;
  /// Open loop: requests a second that arrive, whoever waits; zero: closed.
  double rate = 0;
  uint32_t requests = 64;
  /// Tokens of prompts, ids at random from 3 up to, not with, `vocab`.
  Range promptTokens = {32, 32};
  uint32_t vocab = 1000;
  /// Prompts as text instead, one of which each request has.
  std::vector<std::string> prompts;
  /// Tokens of answers.
  Range outputTokens = {64, 64};
  float temperature = 0;
  uint64_t seed = 1;
  /// What the server calls the model, where it wants to hear it.
  std::string model;
  /// Further fields of each request, with their values as JSON.
  std::vector<std::pair<std::string, std::string>> fields;
  std::string key;
  /// Without a byte for so long a request has failed.
  uint32_t timeoutSeconds = 300;
  bool json = false;
};

/// One prompt a line; a file without any is an error.
Status readPrompts(const std::string &path, std::vector<std::string> &prompts);

/// NAME=VALUE; the value is JSON, or else a text.
Status readField(const std::string &text, TrafficOptions &options);

/// What is asked follows from the seed and the request's number alone, so that
/// two servers get the same, whichever is faster.
class LoadPlan {
public:
  explicit LoadPlan(const TrafficOptions &options) : options(options) {}

  /// When request `number` arrives in an open loop, in seconds from the start.
  /// Arrivals are a Poisson process of the rate.
  double arrival(uint32_t number);
  /// Its body, for /v1/completions.
  std::string body(uint32_t number) const;

private:
  const TrafficOptions &options;
  std::vector<double> arrivals;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVE_LOADPLAN_H
