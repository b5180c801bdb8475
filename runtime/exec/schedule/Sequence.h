//===- Sequence.h - A request and its progress ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCE_H
#define MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCE_H

#include "mtp/session.h"
#include "runtime/exec/memory/KeptLogits.h"
#include "runtime/exec/memory/KeptState.h"
#include "runtime/exec/schedule/DraftPolicy.h"

#include <optional>

namespace mtp {

/// The output of a sequence. Only StepResults writes it.
class SequenceOutput {
public:
  const std::vector<int32_t> &tokens() const { return emitted; }
  FinishReason finish() const { return reason; }
  const KeptLogits &logits() const { return kept; }
  /// Returns the outputs that its updates have.
  const std::vector<RequestOutputType> &types() const { return asked; }

private:
  friend class StepResults;
  std::vector<int32_t> emitted;
  FinishReason reason = FinishReason::None;
  KeptLogits kept;
  std::vector<RequestOutputType> asked;
  /// Log-probabilities of the prompt, until the prompt has been scored.
  std::vector<TokenLogprobs> scores;
};

/// The number of drafts that a sequence has.
struct SequenceDrafts {
  /// Limit on the drafts of a round.
  uint32_t k = 0;
  /// Whether a round may have fewer drafts if they do not pay.
  bool choosesK = false;
  /// How many of its drafts were accepted.
  DraftHistory history;
  /// Number of the next tokens that the constraint forces, at most k.
  uint32_t forced = 0;
};

/// A request and its progress.
class Sequence {
public:
  ///   Waiting -> Prefilling -> Running -> Done
  ///      ^------------+-----------+   (preempted: pages given up)
  ///
  /// Each phase but Done may change to Paused, and Paused to Waiting.
  enum class Phase : uint8_t { Waiting, Prefilling, Running, Paused, Done };

  Phase phase() const { return current; }
  bool isRunning() const { return current == Phase::Running; }
  bool hasSlot() const { return residency.has_value(); }
  /// Whether the host reads rows of logits for the request.
  bool readsLogits() const { return request.logprobs.output.has_value(); }
  /// Whether rounds stop for the host after the sequence's drafts.
  bool stopsRounds() const {
    return request.seesDrafts || (matcher && drafts.k > 0);
  }
  /// Whether end and stop tokens end the sequence already.
  bool mayStop() const { return output.tokens().size() >= request.minTokens; }
  /// Returns the tokens that a prefill of the sequence computes.
  std::vector<int32_t> prefillContext() const {
    std::vector<int32_t> context = request.prompt;
    const std::vector<int32_t> &tokens = output.tokens();
    if (!tokens.empty())
      context.insert(context.end(), tokens.begin(), tokens.end() - 1);
    return context;
  }
  uint64_t prefillTokens() const {
    size_t tokens = output.tokens().size();
    return request.prompt.size() + (tokens ? tokens - 1 : 0);
  }

  SequenceId id = 0;
  /// The request, without its inputs.
  Request request;
  KeptState kept;
  /// Present while the sequence is Prefilling or Running.
  std::optional<Residency> residency;
  SequenceDrafts drafts;
  SequenceOutput output;
  /// The place of the output in the request's constraint; null without one.
  std::unique_ptr<ConstraintMatcher> matcher;
  Statistics statistics;
  /// Prompt tokens that the session had computed when the sequence came: its
  /// age, by which it gets its turn among shorter prompts.
  uint64_t arrival = 0;
  /// Whether the sequence is to be paused when the rounds under way are over.
  bool isPausing = false;

private:
  friend class SequenceTable;
  Phase current = Phase::Waiting;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCE_H
