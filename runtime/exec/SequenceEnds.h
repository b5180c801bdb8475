//===- SequenceEnds.h - Emitted tokens and the ends of sequences *- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SEQUENCEENDS_H
#define MTP_RUNTIME_EXEC_SEQUENCEENDS_H

#include "runtime/exec/launch/SlotResults.h"
#include "runtime/exec/schedule/Sequence.h"

namespace mtp {

class Scheduler;
struct SessionState;

/// Gives sequences the tokens that programs emit, and ends sequences: in the
/// table, in the memory and in the results.
class SequenceEnds {
public:
  SequenceEnds(SessionState &state, Scheduler &scheduler)
      : state(state), scheduler(scheduler) {}

  /// Gives a Running sequence what a program emitted for it. The sequence ends
  /// with the first token that ends it.
  Status emit(Sequence &sequence, std::span<const int32_t> tokens,
              const SlotResults &results);
  /// Ends a sequence with an error.
  void fail(Sequence &sequence, Status error);
  /// Ends a sequence that the caller cancels. States are copied for a later
  /// turn if `mayCopy`.
  void cancel(Sequence &sequence, bool mayCopy);

private:
  Status copyStates(Sequence &sequence);
  void finish(Sequence &sequence, FinishReason reason, Status error);

  SessionState &state;
  Scheduler &scheduler;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SEQUENCEENDS_H
