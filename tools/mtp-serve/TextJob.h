//===- TextJob.h - A reply that the worker makes ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_TEXTJOB_H
#define MTP_TOOLS_MTP_SERVE_TEXTJOB_H

#include "tools/mtp-serve/BodyBudget.h"
#include "tools/mtp-serve/Http.h"

#include <atomic>
#include <functional>
#include <optional>

namespace mtp::serve {

/// Work on a text that makes a reply. All but `isDropped` and the work itself
/// is for the I/O thread.
struct TextJob {
  /// Done on the worker's thread, which it must be safe on.
  std::function<HttpReply()> work;
  uint64_t client = 0;
  /// Of the body that `work` holds.
  BodyBudget::Share share;
  /// Nobody wants it any more: it need not be begun, nor go on.
  std::atomic<bool> isDropped = false;

  /// One of these once it is done.
  std::optional<HttpReply> reply;
  MaybeError error;
  /// Called then; or none.
  std::function<void()> listener;

  bool isDone() const { return reply || error; }
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_TEXTJOB_H
