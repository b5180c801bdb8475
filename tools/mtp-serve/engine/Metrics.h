//===- Metrics.h - Numbers for Prometheus -----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_METRICS_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_METRICS_H

#include "tools/mtp-serve/engine/Engine.h"

#include <chrono>
#include <memory>
#include <string>

namespace mtp::serve {

/// The facts that vllm:cache_config_info has as labels.
struct CacheConfig {
  uint32_t pageTokens = 0;
  uint32_t pages = 0;
  bool sharesPrefixes = false;
};

/// The request of a new sequence, for metrics.
struct SequenceFacts {
  size_t promptTokens = 0;
  /// The limit on output tokens, and the answers to the prompt.
  uint32_t maxTokens = 0;
  uint32_t n = 1;
};

/// Metrics of sequences, under vLLM's names if the meaning is equal. For one
/// thread. Only the source file sees the wrapped library, which throws.
class Metrics {
public:
  explicit Metrics(const std::string &model, const CacheConfig &cache = {});
  ~Metrics();

  /// Records that a sequence was submitted; its request had come at `arrived`.
  void submitted(Handle handle, const SequenceFacts &facts,
                 Clock::time_point arrived);
  /// Records an event. `reason`: why the answer has ended; None while it has
  /// not.
  void taken(const EngineEvent &event, FinishReason reason,
             Clock::time_point now);
  void setState(const EngineState &state);
  /// Sets the number of sequences whose prompts are being encoded. They count
  /// as waiting.
  void setEncoding(size_t sequences);
  /// Sets the bytes of request bodies that are being read or wait for
  /// tokenization.
  void setBodyBytes(uint64_t bytes);
  /// Records that a request was refused because too many wait.
  void refused();

  /// Returns all metrics in Prometheus's text format.
  std::string text() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_METRICS_H
