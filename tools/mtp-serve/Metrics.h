//===- Metrics.h - Numbers for Prometheus -----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_METRICS_H
#define MTP_TOOLS_MTP_SERVE_METRICS_H

#include "tools/mtp-serve/Engine.h"

#include <chrono>
#include <memory>
#include <string>

namespace mtp::serve {

using Clock = std::chrono::steady_clock;

/// Counts what sequences do, under vLLM's names where they mean the same. For
/// one thread. The library that it wraps throws, and is seen in its source file
/// alone.
class Metrics {
public:
  explicit Metrics(const std::string &model);
  ~Metrics();

  /// A sequence was submitted whose request had come at `arrived`.
  void submitted(Handle handle, size_t promptTokens, Clock::time_point arrived);
  /// `reason`: why the answer has ended; None while it has not.
  void taken(const EngineEvent &event, FinishReason reason,
             Clock::time_point now);
  void setState(const EngineState &state);
  /// Sequences whose prompts are being encoded, which wait, too.
  void setEncoding(size_t sequences);
  /// Bytes of all bodies that are read or wait to be encoded.
  void setBodyBytes(uint64_t bytes);
  /// A request was refused because too many wait.
  void refused();

  /// In Prometheus's text format.
  std::string text() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_METRICS_H
