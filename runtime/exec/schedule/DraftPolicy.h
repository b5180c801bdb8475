//===- DraftPolicy.h - How many drafts a round has --------------*- C++ -*-===//
// Chooses k by the cost of rounds (RoundCostModel) and by how many drafts of
// each slot are accepted. The choice is the k of the most tokens per second
// over all slots together, and how many of its drafts each slot verifies. Costs
// and outcomes go in, and k comes out. The policy knows no clock, device or
// session, so a test can replay what happened.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H
#define MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H

#include "runtime/exec/schedule/RoundCostModel.h"

#include <functional>
#include <span>
#include <vector>

namespace mtp {

/// How often drafts were accepted at each position, if all drafts before them
/// were. The last drafts count most.
class DraftHistory {
public:
  /// Records one round: `drafted` tokens proposed, `accepted` of them kept. The
  /// first `forced` tokens say nothing about the drafter.
  void add(uint32_t drafted, uint32_t accepted, uint32_t forced = 0);
  /// Lets everything recorded so far count for one round less.
  void age();
  /// Starts from the share of drafts accepted at a position, which counts as
  /// `tried` drafts. Positions come in order.
  void begin(double tried, double rate) {
    positions.push_back({tried, tried * rate});
  }

  /// Returns the share of drafts accepted at a position, counted from 0.
  /// `prior` counts as `weight` drafts.
  double rate(uint32_t position, double prior, double weight) const;
  /// Returns the number of drafts at a position that count.
  double tried(uint32_t position) const {
    return position < positions.size() ? positions[position].tried : 0;
  }

  /// Rounds that the drafters need to make up for rounds without drafts, which
  /// left them no entries.
  uint32_t gap = 0;

private:
  struct Position {
    double tried = 0, accepted = 0;
  };
  std::vector<Position> positions;
};

/// Returns the number of padding slots that a round of a k should have.
using PaddingFunction = std::function<uint32_t(uint32_t batch, uint32_t k)>;

class DraftPolicy {
public:
  /// `rowsByK`: by k, the rows of a slot in a round; k + 1 for a k without an
  /// element. A round has at most `mostRows` rows of all slots. Trimmed drafts
  /// cost nothing, and count as rejected. `padding`: the number of padding
  /// slots of a round; null: none.
  explicit DraftPolicy(std::vector<uint32_t> rowsByK = {},
                       uint32_t mostRows = UINT32_MAX,
                       PaddingFunction padding = nullptr)
      : rowsByK(std::move(rowsByK)), mostRows(mostRows),
        padding(std::move(padding)) {}

  /// The costs of rounds and the acceptance of drafts, which one policy leaves
  /// to another of equal programs and an equal machine.
  struct LearnedCosts {
    RoundCostModel cost;
    DraftHistory all;
    /// By position, the number of drafts in `all` that tell about the texts to
    /// come. Empty: another session's texts tell nothing about the next ones.
    std::vector<double> evidence;
    /// By position, the acceptance of a profile; empty without one. A text
    /// whose first drafts are accepted more often accepts later drafts more
    /// often.
    std::vector<double> usual;
    /// How much texts differ, see spreadOf(); 0: unknown.
    double spread = 0;
  };
  /// Outcomes of the first drafts of a kind of texts.
  struct KindCount {
    uint64_t tried = 0, accepted = 0;
  };
  /// Returns the standard deviation between kinds of the log odds that first
  /// drafts are accepted, within a limit; 0 for fewer than two kinds. The noise
  /// of small counts is no deviation.
  static double spreadOf(std::span<const KindCount> kinds);
  const LearnedCosts &learned() const { return known; }
  /// Returns the number of padding slots that a round should have.
  uint32_t paddingOf(uint32_t batch, uint32_t k) const {
    return padding ? padding(batch, k) : 0;
  }
  /// Takes over what another policy has learned. Before the first choice.
  void begin(LearnedCosts learned);

  struct Slot {
    /// Null if the slot always has `most` drafts.
    const DraftHistory *history = nullptr;
    uint32_t most = 0;
    /// Positions that the caches have of the slot.
    uint64_t positions = 0;
    /// Number of the next tokens that a constraint forces. They take the place
    /// of drafts, and nearly all are accepted.
    uint32_t forced = 0;
  };
  struct Choice {
    /// Drafts of the round.
    uint32_t k = 0;
    /// Limit on the rounds of the choice. A trial has few rounds.
    uint32_t rounds = UINT32_MAX;
    /// By slot, the drafts that it verifies: at most `k` and its `most`.
    std::vector<uint32_t> drafts;
  };

  /// Chooses the next round of the slots that run.
  Choice choose(std::span<const Slot> slots);

  /// Records the time of a round.
  void addRound(const RoundCostModel::Work &work, double seconds);
  /// Records the time that refreshing drafters took after rounds without
  /// drafts. It counts as lost by trials.
  void addCatchUp(double seconds) { credit -= seconds; }
  /// Records a round of k of a slot that chooses: `drafted` drafts to verify,
  /// `accepted` of them kept. The first `forced` tokens took the place of
  /// drafts.
  void addOutcome(DraftHistory &history, uint32_t k, uint32_t drafted,
                  uint32_t accepted, uint32_t forced = 0);

private:
  /// The choices for a batch.
  struct Candidates {
    uint32_t batch = 0, least = 0, most = 0;
    /// Cached positions of all slots.
    uint64_t positions = 0;
    std::span<const Slot> slots;
    /// By slot and draft, the probability that all drafts up to this one are
    /// accepted.
    std::vector<std::vector<double>> chances;
    /// By k, the tokens of a round in which all slots verify all drafts that
    /// they may: the expected number, and the number at best.
    std::vector<double> tokens, bestTokens;
  };
  /// Drafts of each slot in a round of a k, and the expected tokens per second.
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
  bool isMeasured(const Candidates &of, uint32_t k) const {
    return known.cost.isMeasured(of.batch, k, paddingOf(of.batch, k));
  }
  bool isFarAway(const Candidates &of, uint32_t k) const;
  double priceOfTrial(const Candidates &of, uint32_t k, double rate) const;
  double worthOfTrial(const Candidates &of, uint32_t k) const;
  bool paysAhead(const Candidates &of, uint32_t k, double loss) const;
  bool startTrial(const Candidates &of);
  uint32_t rowsOf(uint32_t drafts) const;
  RoundCostModel::Work roundOf(const Candidates &of, uint32_t k) const;
  RoundCostModel::Work fullRound(const Candidates &of, uint32_t k) const;

  std::vector<uint32_t> rowsByK;
  uint32_t mostRows;
  PaddingFunction padding;
  /// Costs, and the acceptance of all slots, with which new slots begin.
  LearnedCosts known;
  /// By position, drafts of a slot that were tried not long ago. Several slots
  /// at one time say no more about another time than one slot does.
  std::vector<double> fresh;
  /// By position, drafts of all slots that were tried since the last round.
  std::vector<uint32_t> reached;
  /// The number of windows with drafts that slots had.
  uint32_t windows = 0;
  /// Whether a round ran, and whether one was measured.
  bool isWarm = false, hasStarted = false;
  /// The first k, before anything is known. On a machine that computes from the
  /// first row on, a round of many slots with more drafts takes several times a
  /// round with one.
  uint32_t current = 1;
  /// A k that is tried, the number of rounds left for it, and their batch.
  uint32_t tried = 0, trialRounds = 0, trialBatch = 0;
  /// Rounds until the next trial may begin.
  uint32_t pause = 0;
  /// Seconds that trials may lose; below 0 after trials that paid ahead.
  double credit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_DRAFTPOLICY_H
