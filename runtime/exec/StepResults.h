//===- StepResults.h - What steps give to the caller ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_STEPRESULTS_H
#define MTP_RUNTIME_EXEC_STEPRESULTS_H

#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/launch/SlotResults.h"
#include "runtime/exec/results/RowLogprobs.h"
#include "runtime/exec/schedule/Sequence.h"

#include <map>

namespace mtp {

/// Writes the outputs of sequences: tokens, kept logits, requested outputs and
/// statistics. Collects the updates of a step.
class StepResults {
public:
  /// Model and executable must outlive the object.
  StepResults(const Model::Impl &model, Executable &executable,
              const SessionOptions &options);

  /// Readies the output of a new sequence.
  void begin(Sequence &sequence, KeptLogits logits,
             std::vector<RequestOutputType> outputs) const;

  /// The result of emit().
  struct Emitted {
    /// Number of tokens that were appended to the output.
    size_t tokens = 0;
    /// Why the sequence ends; None if it goes on.
    FinishReason end = FinishReason::None;
    Status error;
  };
  /// Appends what a program emitted, up to the first token that ends the
  /// sequence. The rest of an accepted run is dropped, so the output is what it
  /// would be one token at a time. The caller ends the sequence.
  Result<Emitted> emit(Sequence &sequence, std::span<const int32_t> tokens,
                       const SlotResults &results);
  /// Adds the requested outputs of the last `tokens` tokens to the update.
  Status readOutputs(const Sequence &sequence, size_t tokens,
                     const SlotResults &results);
  /// Scores the prompt token after position `row` from the row's logits. Row 0
  /// begins the prompt anew.
  Status addPromptRow(Sequence &sequence, uint64_t row, Binding logits);
  /// Adds the scores of the whole prompt to the update.
  void finishPrompt(Sequence &sequence);
  /// Notes in the update that a sequence has ended.
  void finish(Sequence &sequence, FinishReason reason, Status error);
  /// Ends the output of a sequence that the caller cancels.
  void cancel(Sequence &sequence);

  /// Counts a round of k in which a sequence may have had `drafts` drafts: it
  /// had `drafted` of them and emitted `tokens` tokens.
  void countRound(Sequence &sequence, uint32_t k, uint32_t drafts,
                  uint32_t drafted, size_t tokens);
  /// Adds to a count of the session and of a sequence, which may be null.
  void count(Sequence *sequence, uint64_t Statistics::*what, uint64_t number) {
    all.*what += number;
    if (sequence)
      sequence->statistics.*what += number;
  }

  /// Returns the tokens that end a sequence of the request.
  std::vector<int32_t> stopTokensOf(const Request &request) const;

  /// Returns the update of a sequence, which is added if there is none.
  SequenceUpdate &update(SequenceId id);
  bool hasUpdates() const { return !updates.empty(); }
  /// Adds drafts to the update of a sequence, if there is one.
  void addDrafted(SequenceId id, uint32_t drafted);
  /// Returns the updates since the last call, in order of id.
  std::vector<SequenceUpdate> take();

  /// Counts of the session.
  Statistics &statistics() { return all; }

private:
  Status keepLogits(Sequence &sequence, Binding row);
  Result<TokenLogprobs> readLogprobs(const Request &request, uint32_t count,
                                     int32_t token, LogprobsMode mode,
                                     Binding row);
  Status addLogprobs(Sequence &sequence, int32_t token, Binding row);

  const Model::Impl &model;
  Executable &executable;
  const SessionOptions &options;
  Statistics all;
  std::map<SequenceId, SequenceUpdate> updates;
  RowLogprobs rowLogprobs;
  /// A row of logits.
  std::vector<float> logits;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_STEPRESULTS_H
