//===- PromptScorer.h - Log-probabilities of prompts ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROMPTSCORER_H
#define MTP_RUNTIME_EXEC_PROMPTSCORER_H

#include "runtime/exec/SessionParts.h"
#include "runtime/exec/program/PromptScoring.h"

namespace mtp {

/// Scores the prompts of sequences that ask for it, before their prefill. The
/// function for scoring runs over the whole prompt in the sequence's own slot
/// and pages, from position 0 on. Prefill then computes all entries again, with
/// equal bits, and the entries of drafters.
class PromptScorer {
public:
  /// `parts` must outlive the scorer.
  explicit PromptScorer(SessionParts &parts);

  /// Whether the prompt of a sequence that is being prefilled must still be
  /// scored.
  static bool isPending(const Sequence &sequence);

  /// Scores about `rows` rows of prompts, at least one pass.
  Status run(uint64_t rows);

private:
  Status runPass(Sequence &sequence);
  Status writeRows(const Sequence &sequence, uint32_t count);
  Status addRow(Sequence &sequence, uint32_t row);

  SessionParts &parts;
  std::optional<PromptScoring> scoring;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROMPTSCORER_H
