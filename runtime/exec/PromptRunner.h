//===- PromptRunner.h - Passes over prompts ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROMPTRUNNER_H
#define MTP_RUNTIME_EXEC_PROMPTRUNNER_H

#include "runtime/exec/PromptScorer.h"
#include "runtime/exec/launch/PrefillLaunch.h"
#include "runtime/exec/schedule/PrefillPlanner.h"

namespace mtp {

/// Plans passes over prompts, runs them, and applies their results. If the
/// artifact has programs for it, prompts that wait while sequences run are read
/// in the rounds of the running sequences: one pass over the target's weights
/// computes the rows of both. Rows that a library computes never mix. No prompt
/// rows are mixed while a sequence that sees its drafts runs, because they
/// would wait for its host.
class PromptRunner {
public:
  /// `parts` must outlive the runner.
  explicit PromptRunner(SessionParts &parts);

  /// Scores prompts of sequences that ask for it. While sequences run, only
  /// about the rows that a step may have.
  Status score();
  /// Runs the passes of a step. If the number of passes is the session's to
  /// choose, the first token of a sequence ends them.
  Status run();

  /// Whether rounds of this session can have prompt rows.
  bool canMix() const { return prefillPlanner.canMix(); }
  /// Whether the next round takes prompt rows.
  bool mixesNext() const;
  /// Adds to a round the prompt rows that it takes, and the program for them.
  /// mixesNext() must be true now: a sequence that ran before pages became
  /// short may wait since then.
  Status addMixed(uint64_t rowsOfRound, RoundWork &work);
  /// Applies the results of the prompt rows of a round that is over.
  Status readMixed();

  PrefillPlanner &planner() { return prefillPlanner; }

private:
  PrefillPass plan(const PrefillLimits &limits) const;
  std::vector<PendingPrompt> prompts() const;
  PrefillRun nextRun(SequenceId id) const;
  Result<PromptPart> partOf(SequenceId id, uint32_t rows, uint32_t firstRow);
  uint32_t freeSlot() const;
  Status runPass(const PrefillPass &pass);
  Status commit(Sequence &sequence, uint32_t rows, const SlotResults &results);
  Status finish(Sequence &sequence, const SlotResults &results);

  SessionParts &parts;
  PrefillPlanner prefillPlanner;
  PrefillLaunch launch;
  PromptScorer scorer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROMPTRUNNER_H
