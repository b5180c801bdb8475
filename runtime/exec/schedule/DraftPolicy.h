//===- DraftPolicy.h - How many drafts a round has --------------*- C++ -*-===//
//
// Chooses k by what rounds cost (RoundCost) and by how many drafts of each slot
// are accepted: the k of the most tokens per second, over all slots together,
// and how many of its drafts each slot verifies.
// Costs and outcomes go in, and k comes out: nothing here knows a clock, a
// device or a session, so that a test can replay what happened.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H
#define MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H

#include "runtime/exec/schedule/RoundCost.h"

#include <span>
#include <vector>

namespace mtp {

/// How often drafts were accepted at each position, where all before them were.
/// The last ones count most.
class DraftHistory {
public:
  /// A round with so many drafts accepted so many of them.
  void add(uint32_t drafted, uint32_t accepted);
  /// A round later what was before counts less.
  void age();

  /// The share of drafts accepted at a position, counted from 0, with `prior`
  /// for as many drafts as `weight` says.
  double rate(uint32_t position, double prior, double weight) const;

  /// Rounds that its drafters need until they have made up for rounds without
  /// drafts, which left them no entries.
  uint32_t gap = 0;

private:
  struct Position {
    double tried = 0, accepted = 0;
  };
  std::vector<Position> positions;
};

class DraftPolicy {
public:
  /// By k, the rows of a slot in a round; k + 1 where that is not said. A round
  /// has `mostRows` of all slots at most: drafts that are trimmed cost nothing,
  /// and count as rejected.
  explicit DraftPolicy(std::vector<uint32_t> rowsByK = {},
                       uint32_t mostRows = UINT32_MAX)
      : rowsByK(std::move(rowsByK)), mostRows(mostRows) {}

  /// What one policy leaves to another of the same programs and machine: what
  /// rounds cost, and how many drafts were accepted.
  struct Lesson {
    RoundCost cost;
    DraftHistory all;
  };
  const Lesson &lesson() const { return known; }
  /// Begins with what another has learned. Before the first choice.
  void begin(Lesson lesson) { known = std::move(lesson); }

  struct Slot {
    /// Null where the request says how many drafts it has, which are `most`.
    const DraftHistory *history = nullptr;
    uint32_t most = 0;
    /// Those that the caches have of it.
    uint64_t positions = 0;
  };
  struct Choice {
    /// Drafts of the round.
    uint32_t k = 0;
    /// Rounds that it is for, at most: a choice that is tried is for few.
    uint32_t rounds = UINT32_MAX;
    /// Of each slot the drafts that it verifies, at most `k` and its `most`.
    std::vector<uint32_t> drafts;
  };

  /// The next round's, for the slots that run.
  Choice choose(std::span<const Slot> slots);

  /// What a round took.
  void addRound(const RoundCost::Work &work, double seconds);
  /// What it took to bring drafters up to date that rounds without drafts had
  /// left behind. It counts as lost by trials.
  void addCatchUp(double seconds) { credit -= seconds; }
  /// What a slot that chooses had of a round of k: so many drafts to verify, of
  /// which so many were accepted.
  void addOutcome(DraftHistory &history, uint32_t k, uint32_t drafted,
                  uint32_t accepted);

private:
  /// What there is to choose from for a batch.
  struct Candidates {
    uint32_t batch = 0, least = 0, most = 0;
    /// Of all slots.
    uint64_t positions = 0;
    std::span<const Slot> slots;
    /// By slot and draft, the probability that all drafts up to this one are
    /// accepted.
    std::vector<std::vector<double>> chances;
    /// By k, the tokens of a round in which all slots verify all they may: as
    /// they are expected, and at best.
    std::vector<double> tokens, bestTokens;
  };
  /// Drafts of each slot in a round of a k, and the tokens per second that are
  /// expected of it.
  struct Shares {
    std::vector<uint32_t> drafts;
    double rate = 0;
  };
  Candidates candidatesFor(std::span<const Slot> slots) const;
  Shares allDrafts(const Candidates &of, uint32_t k) const;
  Shares worthwhileDrafts(const Candidates &of, uint32_t k) const;
  double bestRate(const Candidates &of, uint32_t k) const;
  bool move(const Candidates &of);
  bool isEarly(const Candidates &of, uint32_t k) const;
  bool isFarAway(const Candidates &of, uint32_t k) const;
  double priceOfTrial(const Candidates &of, uint32_t k, double rate) const;
  bool startTrial(const Candidates &of);
  uint32_t rowsOf(uint32_t drafts) const;
  RoundCost::Work fullRound(const Candidates &of, uint32_t k) const;

  std::vector<uint32_t> rowsByK;
  uint32_t mostRows;
  /// Of the acceptance of all slots, which is what new ones begin with.
  Lesson known;
  /// By position, drafts of a slot that were tried not long ago: what several
  /// slots have at one time says no more of another time.
  std::vector<double> fresh;
  /// By position, drafts of all slots that were tried since the last round.
  std::vector<uint32_t> reached;
  /// Windows with drafts that slots had.
  uint32_t windows = 0;
  /// Whether a round ran, and whether one was measured.
  bool isWarm = false, hasStarted = false;
  /// The first k, before anything is known: of many slots that compute from
  /// the first row on a round with more takes several times what one should.
  uint32_t current = 1;
  /// A k that is tried, for how many rounds still.
  uint32_t tried = 0, trialRounds = 0, trialBatch = 0;
  /// Rounds until the next trial may begin.
  uint32_t pause = 0;
  /// Seconds that trials may lose.
  double credit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H
