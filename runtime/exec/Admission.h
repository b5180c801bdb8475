//===- Admission.h - A session's pages and slots for a scheduler *- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_ADMISSION_H
#define MTP_RUNTIME_EXEC_ADMISSION_H

#include "runtime/exec/schedule/PageBudget.h"

namespace mtp {

struct SessionState;

/// Carries out what a scheduler decides: takes and gives up pages, and readies
/// slots on the device.
class Admission : public PageBudget {
public:
  explicit Admission(SessionState &state) : state(state) {}

  uint64_t pagesToBegin(const Sequence &sequence) const override;
  bool isWorthWaiting(const Sequence &sequence) const override;
  std::optional<Residency> take(Sequence &sequence, uint32_t slot,
                                uint64_t reserved) override;
  Status prepare(Sequence &sequence) override;
  Status save(Sequence &sequence) override;
  void release(Sequence &sequence) override;
  bool growForRound(Sequence &sequence, uint32_t k) override;
  void giveBackAhead() override;

  /// Tells the device which tokens end a sequence; none while the sequence must
  /// not stop yet.
  Status writeStops(Sequence &sequence);

private:
  SessionState &state;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_ADMISSION_H
