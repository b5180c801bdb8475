//===- TextJob.h - A reply that the worker makes ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_TEXTJOB_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_TEXTJOB_H

#include "tools/mtp-serve/api/Http.h"
#include "tools/mtp-serve/api/RequestMemoryLimit.h"

#include <atomic>
#include <functional>
#include <optional>

namespace mtp::serve {

/// Work on a text that makes a reply. The I/O thread owns all members except
/// `isDropped` and the work itself.
struct TextJob {
  /// Runs on the worker's thread and must be safe there.
  std::function<HttpReply()> work;
  uint64_t client = 0;
  /// Whether the work reads or writes files, so that texts must not wait for
  /// it.
  bool usesFiles = false;
  /// The share of the body that `work` holds.
  RequestMemoryLimit::Share share;
  /// Set if the reply is no longer wanted: the work need not begin or go on.
  std::atomic<bool> isDropped = false;

  /// One of these is set once the work is done.
  std::optional<HttpReply> reply;
  MaybeError error;
  /// Called when the work is done; may be empty.
  std::function<void()> listener;

  bool isDone() const { return reply || error; }
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_TEXTJOB_H
