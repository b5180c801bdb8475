//===- LearnedDraftCosts.h - Costs for later sessions -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LEARNEDDRAFTCOSTS_H
#define MTP_RUNTIME_EXEC_LEARNEDDRAFTCOSTS_H

#include "runtime/exec/schedule/DraftPolicy.h"

#include <map>
#include <mutex>

namespace mtp {

/// Costs and acceptance that the sessions of a model have learned, by the
/// number of threads that run them. Threads may share an object.
class LearnedDraftCosts {
public:
  /// Returns what the last session with this number of threads has left.
  DraftPolicy::LearnedCosts of(uint32_t threads) const {
    std::lock_guard hold(mutex);
    auto found = learnedCosts.find(threads);
    return found == learnedCosts.end() ? DraftPolicy::LearnedCosts()
                                       : found->second;
  }
  /// Whether a session with this number of threads has left something.
  bool has(uint32_t threads) const {
    std::lock_guard hold(mutex);
    return learnedCosts.contains(threads);
  }
  /// Stores what a session leaves, if it has measured rounds, or what a profile
  /// tells.
  void leave(uint32_t threads, const DraftPolicy::LearnedCosts &learned) {
    if (learned.cost.isEmpty() && learned.evidence.empty())
      return;
    std::lock_guard hold(mutex);
    learnedCosts[threads] = learned;
  }

private:
  mutable std::mutex mutex;
  std::map<uint32_t, DraftPolicy::LearnedCosts> learnedCosts;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LEARNEDDRAFTCOSTS_H
