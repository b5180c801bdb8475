//===- SequenceEnds.cpp - Emitted tokens and the ends of sequences --------===//

#include "runtime/exec/SequenceEnds.h"
#include "runtime/exec/SessionState.h"
#include "runtime/exec/schedule/Scheduler.h"

#include <utility>

using namespace mtp;

Status SequenceEnds::emit(Sequence &sequence, std::span<const int32_t> tokens,
                          const SlotResults &results) {
  MTP_ASSIGN_OR_RETURN(StepResults::Emitted emitted,
                       state.results.emit(sequence, tokens, results));
  scheduler.charge(sequence, emitted.tokens);
  if (emitted.end == FinishReason::None) {
    std::vector<int32_t> &context = sequence.residency->context;
    context.insert(context.end(), tokens.begin(), tokens.end());
  } else {
    if (emitted.end != FinishReason::Failed) {
      if (state.recorder)
        state.recorder->addOutput(sequence.output.tokens().size());
      MTP_RETURN_IF_ERROR(copyStates(sequence));
    }
    finish(sequence, emitted.end, std::move(emitted.error));
  }
  return emitted.tokens
             ? state.results.readOutputs(sequence, emitted.tokens, results)
             : okStatus();
}

/// Copies the states of a sequence that is about to end, for a later turn of
/// its conversation. If other rounds have followed on the device, the copy is
/// made after them.
Status SequenceEnds::copyStates(Sequence &sequence) {
  StateCopies &copies = state.memory->copies();
  if (!sequence.residency ||
      !copies.canStoreEnd(sequence.kept, *sequence.residency))
    return okStatus();
  auto isRunning = [&](SequenceId id) { return state.table.findRunning(id); };
  MTP_ASSIGN_OR_RETURN(bool isAtRest,
                       state.launch.isAtRest(sequence.id, isRunning));
  if (isAtRest)
    copies.storeEnd(sequence.kept, *sequence.residency);
  else
    state.launch.noteEnded(copies.endedOf(sequence.kept, *sequence.residency));
  return okStatus();
}

void SequenceEnds::finish(Sequence &sequence, FinishReason reason,
                          Status error) {
  scheduler.end(sequence);
  state.memory->drop(sequence.kept);
  state.results.finish(sequence, reason, std::move(error));
}

void SequenceEnds::fail(Sequence &sequence, Status error) {
  finish(sequence, FinishReason::Failed, std::move(error));
}

void SequenceEnds::cancel(Sequence &sequence, bool mayCopy) {
  // A caller may end a text at a string in it. The text may go on like others.
  // A copy that cannot be made is no failure of the call.
  if (mayCopy)
    static_cast<void>(copyStates(sequence));
  scheduler.end(sequence);
  state.memory->drop(sequence.kept);
  state.results.cancel(sequence);
}
