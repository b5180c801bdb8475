//===- PageBudget.h - What the scheduler asks of the memory -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_PAGEBUDGET_H
#define MTP_RUNTIME_EXEC_SCHEDULE_PAGEBUDGET_H

#include "runtime/exec/schedule/Sequence.h"

#include <optional>

namespace mtp {

/// The memory as the scheduler sees it. Tests have one that counts pages.
class PageBudget {
public:
  virtual ~PageBudget() = default;

  /// Pages that a Waiting sequence needs for its prefill and first round.
  virtual uint64_t pagesToBegin(const Sequence &sequence) const = 0;
  /// Whether a Waiting sequence should wait for pages that a prompt which is
  /// being prefilled fills: computing them twice costs more than a later pass.
  virtual bool isWorthWaiting(const Sequence &sequence) const = 0;

  /// Takes the pages of a Waiting sequence, and leaves at least `reserved`
  /// pages available. Nothing changes if pages are short.
  virtual std::optional<Residency> take(Sequence &sequence, uint32_t slot,
                                        uint64_t reserved) = 0;
  /// Readies the slot of a sequence that has just become Prefilling.
  virtual Status prepare(Sequence &sequence) = 0;
  /// Saves what a sequence with a slot needs to go on later. release() follows.
  virtual Status save(Sequence &sequence) = 0;
  /// Gives up the pages of a sequence with a slot.
  virtual void release(Sequence &sequence) = 0;

  /// Gives a Running sequence the pages of a round of k. False, changing
  /// nothing, if pages are short.
  virtual bool growForRound(Sequence &sequence, uint32_t k) = 0;
  /// Gives up the pages after every Running sequence's next round, which rounds
  /// ahead would have used. No round is under way.
  virtual void giveBackAhead() = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_PAGEBUDGET_H
