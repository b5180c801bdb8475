//===- RoundPlanner.h - The sequences and drafts of a round -----*- C++ -*-===//
//
// A round is of one k, the largest that one of its sequences wants. The others
// draft less, which a state of their slot says, and their output is the same.
// If the artifact has no such state, its accept rule may not be exact, and
// output may depend on k. Then only sequences of one k share a round, and k is
// what their requests say. Numbers go in and a plan comes out: nothing here
// knows a clock or a device.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_ROUNDPLANNER_H
#define MTP_RUNTIME_EXEC_SCHEDULE_ROUNDPLANNER_H

#include "mtp/session.h"
#include "runtime/exec/program/ProgramTable.h"
#include "runtime/exec/schedule/DraftPolicy.h"

namespace mtp {

/// A sequence that may be in the next round.
struct RoundCandidate {
  SequenceId id = 0;
  /// Limit on the sequence's drafts.
  uint32_t k = 0;
  /// Acceptance of the sequence's drafts; null if it always has k drafts.
  const DraftHistory *history = nullptr;
  /// The position of the sequence's anchor, and the number of drafts that its
  /// last round accepted.
  uint64_t length = 0;
  uint32_t accepted = 0;
  /// Number of the next tokens that the sequence's constraint forces.
  uint32_t forced = 0;
};

/// The next round, or launch of rounds.
struct RoundPlan {
  struct Row {
    SequenceId id = 0;
    /// Drafts that the sequence may have.
    uint32_t drafts = 0;
  };
  std::vector<Row> rows;
  /// The k of the round's program.
  uint32_t k = 0;
  /// Limit on the rounds that have this k.
  uint32_t rounds = UINT32_MAX;
};

class RoundPlanner {
public:
  /// Sizes of the session and its programs.
  struct Config {
    /// The session's k.
    uint32_t k = 0;
    /// Limit on the rows of a round.
    uint32_t maxRows = UINT32_MAX;
    /// Whether a slot may draft less than its round.
    bool hasDraftLimit = true;
    /// Null: no round has padding slots.
    PaddingFunction padding = nullptr;
  };

  /// `programs` must outlive the planner, which begins with what another one
  /// has learned.
  RoundPlanner(const ProgramTable &programs, const Config &config,
               DraftPolicy::LearnedCosts learned);

  /// Plans the next round for the Running sequences; no rows if there are none.
  RoundPlan plan(std::span<const RoundCandidate> running);

  /// Returns the number of padding slots that a round should have.
  uint32_t paddingOf(uint32_t batch, uint32_t k) const {
    return policy.paddingOf(batch, k);
  }
  /// Returns the rows that each sequence of a plan may have.
  std::vector<uint32_t> rowsOf(const RoundPlan &plan) const;
  /// Returns the rows that the sequences of a plan have together.
  uint64_t allRowsOf(const RoundPlan &plan) const;

  /// Records that a sequence with `drafted` drafts in a round of k had
  /// `accepted` of them accepted. The first `forced` tokens took the place of
  /// drafts.
  void addOutcome(DraftHistory &history, uint32_t k, uint32_t drafted,
                  uint32_t accepted, uint32_t forced = 0) {
    policy.addOutcome(history, k, drafted, accepted, forced);
  }
  /// Returns the work of a round with a plan's rows, and with `positions` in
  /// the caches.
  RoundCostModel::Work workOf(std::span<const uint32_t> drafts, uint32_t k,
                              uint64_t positions) const;
  /// Records the time of a round without prompt rows.
  void addRound(const RoundCostModel::Work &work, double seconds) {
    policy.addRound(work, seconds);
  }
  /// Records the time that refreshing drafters took.
  void addCatchUp(double seconds) { policy.addCatchUp(seconds); }
  const DraftPolicy::LearnedCosts &learned() const { return policy.learned(); }

private:
  RoundPlan planOfOneK(std::span<const RoundCandidate> running);

  const ProgramTable &programs;
  Config config;
  DraftPolicy policy;
  /// The k of the last rounds, if only sequences of one k share a round.
  uint32_t lastK = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_ROUNDPLANNER_H
