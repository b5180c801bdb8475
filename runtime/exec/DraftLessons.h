//===- DraftLessons.h - What sessions leave to those behind -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_DRAFTLESSONS_H
#define MTP_RUNTIME_EXEC_DRAFTLESSONS_H

#include "runtime/exec/schedule/DraftPolicy.h"

#include <map>
#include <mutex>

namespace mtp {

/// Costs and acceptance that the sessions of a model have learned, by the
/// number of threads that run them. Threads may share an object.
class DraftLessons {
public:
  /// Returns what the last session with this number of threads has left.
  DraftPolicy::Lesson of(uint32_t threads) const {
    std::lock_guard hold(mutex);
    auto found = lessons.find(threads);
    return found == lessons.end() ? DraftPolicy::Lesson() : found->second;
  }
  /// Stores what a session leaves, if it has measured rounds.
  void leave(uint32_t threads, const DraftPolicy::Lesson &lesson) {
    if (lesson.cost.isEmpty())
      return;
    std::lock_guard hold(mutex);
    lessons[threads] = lesson;
  }

private:
  mutable std::mutex mutex;
  std::map<uint32_t, DraftPolicy::Lesson> lessons;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_DRAFTLESSONS_H
