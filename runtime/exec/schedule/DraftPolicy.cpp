//===- DraftPolicy.cpp - How many drafts a round has ----------------------===//
// The choice stays unless another one is better by a margin. An unknown choice
// (a shape that never ran, or more drafts than now) is tried for a few rounds
// if it would be the best under optimistic assumptions. Trials may lose a small
// share of all time, and more if texts differ by a profile.
//===----------------------------------------------------------------------===//

#include "runtime/exec/schedule/DraftPolicy.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mtp;

/// The weight of an outcome one round later. At each position `kLeastMemory`
/// drafts stay in memory in any case, and soon give way to new ones.
static constexpr double kMemory = 0.985, kLeastMemory = 4;

/// The number of drafts for which the mean of all slots stands in a slot, and
/// for which the assumption stands while no draft was made. The assumption: the
/// first draft is accepted with `kFirstRate`, and each further one as often as
/// the one before.
static constexpr double kPrior = 8, kAssumption = 0.25;
static constexpr double kFirstRate = 0.7;

/// The share of forced tokens that are accepted: the model may spell a forced
/// text by other tokens.
static constexpr double kForcedRate = 0.97;

/// The number of drafts for which a profile's rate at a position stands, moved
/// by what the positions before it tell about the text.
static constexpr double kUsual = 8;

/// The share of `fresh` that stays from round to round, and its maximum; and
/// the doubt about a rate without fresh drafts.
static constexpr double kFreshness = 0.99, kMostFresh = 50, kDoubt = 0.4;

/// Factor by which another k must be better, and the factor for k = 0, which
/// leaves a gap in the drafters' caches.
static constexpr double kMargin = 1.015, kGapMargin = 1.025;

/// Rounds of a trial, rounds between two trials, and rounds that a drafter
/// needs after a gap.
static constexpr uint32_t kTrialRounds = 4, kPause = 4, kRecovery = 10;
static constexpr uint32_t kFewerRows = tunable::kFewerRowsRounds.value;

/// The share of all time that trials may lose; the rounds that they may lose at
/// once, and at the beginning without a profile; and the rounds that a gap
/// loses.
static constexpr double kTrialShare = 0.005;
static constexpr double kMostCredit = 24, kFirstCredit = 2, kGapLoss = 1.5;

/// The rounds that trials may lose ahead of their share (`kMostDebt`), if what
/// they tell should save more time in the next rounds (`kHorizon`). The limit
/// on the spread of texts in log odds.
static constexpr double kMostDebt = 4, kHorizon = 100, kMostSpread = 1;

/// Points and weights of a normal distribution (Gauss and Hermite).
static constexpr std::pair<double, double> kNormal[] = {{-2.857, 0.01126},
                                                        {-1.3556, 0.22208},
                                                        {0, 0.53333},
                                                        {1.3556, 0.22208},
                                                        {2.857, 0.01126}};

/// Windows with drafts that must come before a choice of no drafts.
static constexpr uint32_t kEvidence = 16;

/// A round of more drafts may be followed by one that refreshes the same number
/// of rows with fewer drafts. A trial loses this part of the difference.
static constexpr double kRefreshLoss = 0.5;

/// How often the worth of a row is estimated again, and the part of it that a
/// draft must bring: the cost of rows is less certain than that of rounds.
static constexpr int kTurns = 4;
static constexpr double kWorth = 0.9;

//===----------------------------------------------------------------------===//
// What is accepted
//===----------------------------------------------------------------------===//

void DraftHistory::add(uint32_t drafted, uint32_t accepted, uint32_t forced) {
  if (positions.size() < drafted)
    positions.resize(drafted);
  for (uint32_t j = forced; j < drafted && j <= accepted; ++j) {
    positions[j].tried += 1;
    positions[j].accepted += j < accepted;
  }
}

void DraftHistory::age() {
  for (Position &position : positions) {
    if (position.tried <= kLeastMemory)
      continue;
    double kept = std::max(kMemory, kLeastMemory / position.tried);
    position.tried *= kept;
    position.accepted *= kept;
  }
}

double DraftHistory::rate(uint32_t position, double prior,
                          double weight) const {
  if (position >= positions.size())
    return prior;
  const Position &of = positions[position];
  return (of.accepted + weight * prior) / (of.tried + weight);
}

void DraftPolicy::begin(LearnedCosts learned) {
  known = std::move(learned);
  fresh = known.evidence;
  for (double &drafts : fresh)
    drafts = std::min(drafts, kMostFresh);
  if (!fresh.empty() && fresh[0] >= kEvidence)
    windows = kEvidence;
}

void DraftPolicy::addOutcome(DraftHistory &history, uint32_t k,
                             uint32_t drafted, uint32_t accepted,
                             uint32_t forced) {
  history.age();
  if (k == 0) {
    history.gap = std::min(history.gap + 1, kRecovery);
    return;
  }
  history.gap -= history.gap > 0;
  history.add(drafted, accepted, forced);
  windows += drafted > 0;
  known.all.add(drafted, accepted, forced);
  if (reached.size() < drafted)
    reached.resize(drafted);
  for (uint32_t j = forced; j < drafted && j <= accepted; ++j)
    ++reached[j];
}

void DraftPolicy::addRound(const RoundCostModel::Work &work, double seconds) {
  // The very first round may read weights from a disk.
  if (!std::exchange(isWarm, true))
    return;
  if (!std::exchange(hasStarted, true) && known.usual.empty())
    credit = seconds * kFirstCredit;
  known.cost.add(work, seconds);
  credit = std::min(credit + kTrialShare * seconds,
                    kMostCredit * known.cost.seconds(work));
  known.all.age();
  fresh.resize(std::max(fresh.size(), reached.size()));
  reached.resize(fresh.size());
  for (size_t j = 0; j < fresh.size(); ++j) {
    double seen = double(std::exchange(reached[j], 0)) / work.batch;
    fresh[j] = std::min(fresh[j] * kFreshness + seen, kMostFresh);
  }
  if (trialRounds > 0)
    --trialRounds;
  else if (pause > 0)
    --pause;
}

//===----------------------------------------------------------------------===//
// What is worth it
//===----------------------------------------------------------------------===//

/// Returns the logarithm of the odds of a rate.
static double logOdds(double rate) {
  rate = std::clamp(rate, 0.01, 0.99);
  return std::log(rate / (1 - rate));
}

/// Returns a rate whose log odds are larger by `shift`.
static double shifted(double rate, double shift) {
  return 1 / (1 + std::exp(-(logOdds(rate) + shift)));
}

double DraftPolicy::spreadOf(std::span<const KindCount> kinds) {
  double sum = 0, squares = 0, noise = 0, count = double(kinds.size());
  if (kinds.size() < 2)
    return 0;
  for (const KindCount &kind : kinds) {
    // A kind without accepted or without rejected drafts has finite odds.
    double tried = double(kind.tried) + 1, accepted = double(kind.accepted);
    double rate = (accepted + 0.5) / tried;
    sum += logOdds(rate);
    squares += logOdds(rate) * logOdds(rate);
    noise += 1 / (tried * rate * (1 - rate)) / count;
  }
  double variance = (squares - sum * sum / count) / (count - 1) - noise;
  return std::min(std::sqrt(std::max(variance, 0.0)), kMostSpread);
}

DraftPolicy::Candidates
DraftPolicy::candidatesFor(std::span<const Slot> slots) const {
  Candidates of;
  of.batch = uint32_t(slots.size());
  of.slots = slots;
  for (const Slot &slot : slots) {
    of.most = std::max(of.most, slot.most);
    of.positions += slot.positions;
    if (!slot.history)
      of.least = std::max(of.least, slot.most);
  }
  of.tokens.assign(of.most + 1, double(slots.size()));
  of.bestTokens = of.tokens;
  std::vector<double> priors(of.most), doubts(of.most);
  double prior = kFirstRate, shift = 0;
  for (uint32_t j = 0; j < of.most; ++j) {
    bool isUsual = j < known.usual.size();
    if (isUsual)
      prior = shifted(known.usual[j], shift);
    prior = known.all.rate(j, prior, isUsual && j > 0 ? kUsual : kAssumption);
    priors[j] = prior;
    if (isUsual)
      shift = logOdds(prior) - logOdds(known.usual[j]);
    // Drafts up to the current k need no trial.
    if (j >= current)
      doubts[j] = kDoubt / std::sqrt(1 + (j < fresh.size() ? fresh[j] : 0));
  }
  static const DraftHistory kNone;
  for (const Slot &slot : slots) {
    const DraftHistory &history = slot.history ? *slot.history : kNone;
    std::vector<double> &chances = of.chances.emplace_back();
    double all = 1, best = 1, sum = 0, bestSum = 0, own = 0;
    bool isShifted = slot.history && !known.usual.empty();
    for (uint32_t j = 0; j < of.most; ++j) {
      if (j < slot.most) {
        double usual = isShifted ? shifted(priors[j], own) : priors[j];
        double rate = history.rate(j, usual, kPrior);
        if (isShifted)
          own = logOdds(rate) - logOdds(priors[j]);
        if (j < slot.forced)
          rate = kForcedRate;
        sum += all *= rate;
        bestSum += best *= std::min(1.0, rate + doubts[j]);
        chances.push_back(all);
      }
      of.tokens[j + 1] += sum;
      of.bestTokens[j + 1] += bestSum;
    }
  }
  return of;
}

/// Returns the rows of a slot with `drafts` drafts; of a tree, its nodes.
uint32_t DraftPolicy::rowsOf(uint32_t drafts) const {
  return drafts < rowsByK.size() ? rowsByK[drafts] : drafts + 1;
}

/// Returns a round whose rows are still unknown.
RoundCostModel::Work DraftPolicy::roundOf(const Candidates &of,
                                          uint32_t k) const {
  return {of.batch, k, 0, of.positions, paddingOf(of.batch, k)};
}

RoundCostModel::Work DraftPolicy::fullRound(const Candidates &of,
                                            uint32_t k) const {
  RoundCostModel::Work work = roundOf(of, k);
  work.rows = std::min(of.batch * rowsOf(k), mostRows);
  return work;
}

/// Returns the shares if every slot verifies all drafts that it may have.
DraftPolicy::Shares DraftPolicy::allDrafts(const Candidates &of,
                                           uint32_t k) const {
  Shares all;
  RoundCostModel::Work work = roundOf(of, k);
  for (const Slot &slot : of.slots) {
    all.drafts.push_back(std::min(slot.most, k));
    work.rows += rowsOf(all.drafts.back());
  }
  work.rows = std::min(work.rows, mostRows);
  all.rate = of.tokens[k] / known.cost.seconds(work);
  return all;
}

/// Returns the shares if every slot verifies the drafts that pay for their
/// rows: in the time of such a row, other rows would not bring more tokens. The
/// rate with these drafts gives a new worth of a row, a few times (Dinkelbach).
DraftPolicy::Shares DraftPolicy::worthwhileDrafts(const Candidates &of,
                                                  uint32_t k) const {
  Shares best = allDrafts(of, k);
  if (of.batch == 1)
    return best;
  for (int turn = 0; turn < kTurns; ++turn) {
    RoundCostModel::Work work = roundOf(of, k);
    double least = kWorth * best.rate * known.cost.secondsOfRow(work);
    Shares next;
    double tokens = of.batch;
    for (uint32_t s = 0; s < of.batch; ++s) {
      uint32_t drafts = 0, most = std::min(of.slots[s].most, k);
      const std::vector<double> &chances = of.chances[s];
      while (drafts < most &&
             (!of.slots[s].history ||
              chances[drafts] >= least * (rowsOf(drafts + 1) - rowsOf(drafts))))
        tokens += chances[drafts++];
      next.drafts.push_back(drafts);
      work.rows += rowsOf(drafts);
    }
    work.rows = std::min(work.rows, mostRows);
    next.rate = tokens / known.cost.seconds(work);
    // A round whose drafts no slot verifies is worse than a round without.
    bool isIdle = std::ranges::all_of(next.drafts, [](auto n) { return !n; });
    if (next.rate <= best.rate || isIdle)
      break;
    best = std::move(next);
  }
  return best;
}

/// Returns the tokens per second under optimistic assumptions.
double DraftPolicy::bestRate(const Candidates &of, uint32_t k) const {
  RoundCostModel::Work work = fullRound(of, k);
  double doubt = known.cost.doubt(of.batch, k, work.padding);
  double least = known.cost.seconds(work) * (1 - doubt);
  return of.bestTokens[k] / least;
}

/// Whether a choice of no drafts would rest on other texts only: it shows
/// nothing about the current ones. False if drafts would not pay even at best.
bool DraftPolicy::isEarly(const Candidates &of, uint32_t k) const {
  if (k > 0 || windows >= kEvidence)
    return false;
  double none = allDrafts(of, 0).rate;
  for (uint32_t more = 1; more <= of.most; ++more)
    if (bestRate(of, more) > none)
      return true;
  return false;
}

/// Moves to the best k if it is better by its margin. Returns whether k has
/// changed.
bool DraftPolicy::move(const Candidates &of) {
  uint32_t best = current;
  double most = worthwhileDrafts(of, current).rate;
  for (uint32_t k = of.least; k <= of.most; ++k) {
    if (k == current || !isMeasured(of, k) || isEarly(of, k))
      continue;
    double value =
        worthwhileDrafts(of, k).rate / (k == 0 ? kGapMargin : kMargin);
    if (value <= most)
      continue;
    best = k;
    most = value;
  }
  return std::exchange(current, best) != best;
}

/// Whether no similar shape has run. Predictions from fewer drafts err with the
/// distance, and so would the price of a trial.
bool DraftPolicy::isFarAway(const Candidates &of, uint32_t k) const {
  return k > current + 1 && !isMeasured(of, k) && !isMeasured(of, k - 1);
}

/// Returns the seconds that a trial should lose against rounds of the current
/// k, which bring `rate` tokens per second.
double DraftPolicy::priceOfTrial(const Candidates &of, uint32_t k,
                                 double rate) const {
  double seconds = known.cost.seconds(fullRound(of, k));
  double now = known.cost.seconds(fullRound(of, current));
  double loss = kTrialRounds * (seconds - of.tokens[k] / rate);
  if (k == 0)
    loss += kGapLoss * now;
  if (k > current)
    loss += kRefreshLoss * std::max(seconds - now, 0.0);
  return loss;
}

/// Returns the seconds that the next rounds should save if a trial has told how
/// often the drafts of the text are accepted. Rounds without drafts tell
/// nothing about it. The log odds of the slots' texts have a normal
/// distribution around their estimates, which the slots' own drafts make
/// narrower.
double DraftPolicy::worthOfTrial(const Candidates &of, uint32_t k) const {
  double tried = 0, seconds = known.cost.seconds(fullRound(of, k));
  for (const Slot &slot : of.slots)
    tried += (slot.history ? slot.history->tried(0) : kMostFresh) / of.batch;
  double now = allDrafts(of, 0).rate, gain = 0;
  for (auto [at, weight] : kNormal) {
    double tokens = of.batch, reached = of.batch, before = of.batch;
    for (uint32_t j = 0; j < k; ++j) {
      double next = of.tokens[j + 1] - of.tokens[j], rate = next / before;
      double seen = tried * rate * (1 - rate);
      double deviation =
          known.spread / std::sqrt(1 + seen * known.spread * known.spread);
      reached *= shifted(rate, at * deviation / std::sqrt(of.batch));
      tokens += reached;
      before = next;
    }
    gain += weight * std::max(1 - seconds * now / tokens, 0.0);
  }
  return gain * kHorizon * of.batch / now;
}

/// Whether a trial may lose seconds ahead of the share of trials.
bool DraftPolicy::paysAhead(const Candidates &of, uint32_t k,
                            double loss) const {
  if (current != 0 || known.spread == 0)
    return false;
  double most = kMostDebt * known.cost.seconds(fullRound(of, 0));
  return loss <= credit + most && loss < worthOfTrial(of, k);
}

/// Starts a trial of the k with the highest optimistic throughput whose cost
/// fits the exploration budget.
bool DraftPolicy::startTrial(const Candidates &of) {
  double now = worthwhileDrafts(of, current).rate;
  double most = now * kMargin, price = 0;
  bool isFound = false;
  for (uint32_t k = of.least; k <= of.most; ++k) {
    if (k == current || isFarAway(of, k) || isEarly(of, k))
      continue;
    double loss = priceOfTrial(of, k, now);
    bool isAllowed = loss <= credit && bestRate(of, k) > most;
    if (!isAllowed && (isFound || !paysAhead(of, k, loss)))
      continue;
    most = std::max(most, bestRate(of, k));
    tried = k;
    price = std::max(loss, 0.0);
    isFound = true;
  }
  if (!isFound)
    return false;
  credit -= price;
  trialRounds = kTrialRounds;
  pause = kPause;
  trialBatch = of.batch;
  return true;
}

DraftPolicy::Choice DraftPolicy::choose(std::span<const Slot> slots) {
  Candidates of = candidatesFor(slots);
  auto all = [&](uint32_t k, uint32_t rounds = UINT32_MAX) {
    return Choice{k, rounds, allDrafts(of, k).drafts};
  };
  if (of.least == of.most)
    return all(of.most);
  if (!hasStarted && known.cost.isEmpty())
    return all(current = std::clamp(current, of.least, of.most));
  uint32_t before = current = std::clamp(current, of.least, of.most);
  if (trialRounds > 0 && trialBatch == of.batch && tried >= of.least &&
      tried <= of.most) {
    if (trialRounds > kFewerRows)
      return all(tried, trialRounds - kFewerRows);
    // The last rounds of a trial have fewer rows, which shows the cost of rows.
    return {tried, trialRounds, worthwhileDrafts(of, tried).drafts};
  }
  trialRounds = 0;
  bool isOther = move(of);
  // If one more draft paid, another one may pay, too.
  bool climbs = isOther && current == tried && current > before;
  if ((climbs || (!isOther && pause == 0)) && startTrial(of))
    return all(tried, trialRounds - kFewerRows);
  Shares shares = worthwhileDrafts(of, current);
  // Drafts that no slot verifies need not be made. A few must be made, or the
  // drafters' caches have a gap.
  uint32_t most = *std::ranges::max_element(shares.drafts);
  uint32_t k = std::max({most, of.least, std::min(current, 1u)});
  return {k, UINT32_MAX, std::move(shares.drafts)};
}
