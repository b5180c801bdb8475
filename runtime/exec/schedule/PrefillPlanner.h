//===- PrefillPlanner.h - Which prompt rows come next -----------*- C++ -*-===//
//
// A pass computes rows of one prompt or of several, which share its weights.
// The prompt with the fewest tokens left comes first, and prompts gain by
// waiting, so that none waits for ever. A pass that ends a short prompt is
// short. Numbers go in and a plan comes out: nothing here knows a clock or a
// device. DESIGN.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_PREFILLPLANNER_H
#define MTP_RUNTIME_EXEC_SCHEDULE_PREFILLPLANNER_H

#include "mtp/session.h"
#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/exec/program/ProgramTable.h"
#include "runtime/exec/schedule/PrefillCostModel.h"

#include <functional>

namespace mtp {

/// A sequence that is being prefilled.
struct PendingPrompt {
  SequenceId id = 0;
  int32_t priority = 0;
  /// See Sequence::arrival.
  uint64_t arrival = 0;
  /// Tokens computed so far, tokens left, and tokens that the prefill computes
  /// in all.
  uint64_t length = 0, rest = 0, own = 0;
};

/// The next tokens of a prompt that one pass computes.
struct PrefillShare {
  SequenceId id = 0;
  uint32_t rows = 0;
};

/// Limits on the prompt rows of a step.
struct PrefillLimits {
  /// Rows that all passes together may still have.
  uint64_t budget = 0;
  /// Rows of a pass.
  uint32_t largest = 0;
  /// Whether the next pass is the first one of its step. It may be a library's
  /// chunk, which is whole, whatever the limits.
  bool isFirst = true;
};

/// A pass over prompts.
struct PrefillPass {
  std::vector<PrefillShare> shares;
  /// The rows of the pass's program. A single prompt may have fewer than the
  /// smallest chunk that covers it.
  uint32_t chunk = 0;
  /// The sequences of the pass's program; those without a share have no rows.
  uint32_t sequences = 1;
  /// Whether a library computes the products of a chunk of one prompt, whose
  /// rows stand at their positions modulo the chunk.
  bool byLibrary = false;
};

/// The round that prompt rows may join.
struct RoundShape {
  uint32_t batch = 0, k = 0;
  /// Rows of the sequences of the round.
  uint64_t rows = 0;
};

class PrefillPlanner {
public:
  /// Returns the next run of a prompt.
  using RunOf = std::function<PrefillRun(SequenceId)>;

  /// `programs` must outlive the planner. `options` have their defaults filled
  /// in. A library computes chunks of `libraryRows` rows; 0: none.
  PrefillPlanner(const ProgramTable &programs, const SessionOptions &options,
                 uint32_t libraryRows);

  /// Returns the limits of a step, which depend on whether sequences wait for
  /// it.
  PrefillLimits limits(bool isAnyRunning) const;
  /// Sorts prompts, which stand in the order of admission, by the order in
  /// which they get rows: by priority, then by tokens left and age. An age is
  /// counted in tokens that the session computed.
  static void sort(std::vector<PendingPrompt> &prompts);
  /// Plans the next pass for sorted prompts; no shares if there is no prompt or
  /// the budget is too small. A program for more sequences than there are
  /// shares needs a free slot.
  PrefillPass nextPass(std::span<const PendingPrompt> prompts,
                       const PrefillLimits &limits, bool hasFreeSlot,
                       const RunOf &runOf) const;

  /// Whether rounds can have prompt rows: at every k, since k is known late.
  bool canMix() const { return mixes; }
  /// Plans the prompt rows of a round. The round has a program for them.
  std::vector<PrefillShare> mixedShares(std::span<const PendingPrompt> prompts,
                                        const RoundShape &round,
                                        bool hasFreeSlot,
                                        const RunOf &runOf) const;

  /// Records the time of a pass of `rows`.
  void addPass(uint32_t rows, double seconds) { passCost.add(rows, seconds); }
  /// Records the time of a round of `rows`, prompt rows among them.
  void addRound(uint32_t rows, double seconds) { stepCost.add(rows, seconds); }
  /// Records the time of a step's rounds, each without prompt rows.
  void setRoundSeconds(double seconds) { roundSeconds = seconds; }

private:
  bool findMixes() const;
  uint32_t rowsBesideEnd(const PendingPrompt &prompt) const;
  PrefillPass libraryPass(const PendingPrompt &prompt, uint64_t tokens,
                          const PrefillLimits &limits) const;
  std::vector<PrefillShare> shareRows(std::span<const PendingPrompt> prompts,
                                      uint64_t first, uint64_t room,
                                      uint32_t mostSequences,
                                      const RunOf &runOf) const;

  const ProgramTable &programs;
  SessionOptions options;
  uint32_t libraryRows;
  bool mixes;
  PrefillCostModel passCost, stepCost;
  double roundSeconds = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_PREFILLPLANNER_H
