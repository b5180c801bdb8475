//===- ThresholdChoice.cpp - Where a profile ends drafts ------------------===//

#include "runtime/profile/ThresholdChoice.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/TreeChoice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

using namespace mtp;
using namespace mtp::profile;

/// The number of outcomes from which thresholds are compared.
static constexpr uint64_t kLeastOutcomes = 100;
/// The gain that counts, and the number of deviations that it must exceed.
static constexpr double kLeastGain = 1.01, kDeviations = 2;

namespace {
/// Numbers of drafts by confidence.
struct Counts {
  std::array<double, kConfidenceBuckets> accepted = {}, rejected = {};
};

/// Predicts the speed of chains that end by a threshold.
class ThresholdSearch {
public:
  /// `level` scales the rates by position to the outcomes by confidence.
  ThresholdSearch(NodeRates rates, double level, RoundCosts costs,
                  const Load &load)
      : rates(std::move(rates)), level(level), costs(std::move(costs)),
        shares(slotShares(load, this->costs.mostSlots())) {}

  /// Returns the speed of chains of `k` drafts that end before a draft below
  /// `bucket`.
  Threshold evaluate(uint32_t k, size_t bucket, const Counts &counts) const;
  /// Returns the best number of drafts within the limits.
  Threshold best(size_t bucket, const ThresholdLimits &limits,
                 const Counts &counts) const;
  /// Returns whether drafts at a position have outcomes.
  bool hasRate(uint32_t k) const { return rates.rate(k, 0) > 0; }

private:
  double seconds(uint32_t k, double stays, double drafts, double slots) const;

  NodeRates rates;
  double level;
  RoundCosts costs;
  std::map<uint32_t, double> shares;
};
} // namespace

static double sumFrom(const std::array<double, kConfidenceBuckets> &counts,
                      size_t bucket) {
  return std::accumulate(counts.begin() + long(bucket), counts.end(), 0.0);
}

/// Returns the mean time of a round in which each draft lets a slot's chain go
/// on with the probability `stays`. A pass runs if any slot wants it. The pass
/// of a block runs in each round.
double ThresholdSearch::seconds(uint32_t k, double stays, double drafts,
                                double slots) const {
  double time = costs.target(slots * (1 + drafts)), wants = 1;
  if (costs.isBlock())
    return time + costs.drafting(k, slots);
  double row = costs.drafter(2) - costs.drafter(1);
  for (uint32_t pass = 0; pass < k; ++pass) {
    double runs = 1 - std::pow(1 - wants, slots);
    time += runs * (costs.drafter(1) - row) + slots * wants * row;
    wants *= stays;
  }
  return time;
}

Threshold ThresholdSearch::evaluate(uint32_t k, size_t bucket,
                                    const Counts &counts) const {
  double accepted = sumFrom(counts.accepted, 0), kept = 1, stays = 1;
  double all = accepted + sumFrom(counts.rejected, 0);
  double above = sumFrom(counts.accepted, bucket);
  if (accepted > 0)
    kept = above / accepted;
  if (all > 0)
    stays = (above + sumFrom(counts.rejected, bucket)) / all;
  Threshold one;
  one.least = double(bucket) / double(kConfidenceBuckets);
  one.k = k;
  double path = 1, made = 1;
  for (uint32_t j = 1; j <= k; ++j) {
    path *= std::min(rates.rate(j, 0) * level, 1.0) * kept;
    made *= stays;
    one.tokens += path;
    one.drafts += made;
  }
  one.seconds = seconds(k, stays, one.drafts, 1);
  one.gain = 0;
  for (const auto &[slots, share] : shares)
    one.gain += share * one.tokens * costs.target(slots) /
                seconds(k, stays, one.drafts, slots);
  return one;
}

Threshold ThresholdSearch::best(size_t bucket, const ThresholdLimits &limits,
                                const Counts &counts) const {
  Threshold best = evaluate(limits.leastK, bucket, counts);
  for (uint32_t k = limits.leastK + 1; k <= limits.mostK && hasRate(k); ++k)
    if (Threshold one = evaluate(k, bucket, counts); one.gain > best.gain)
      best = one;
  return best;
}

/// Returns the deviation of the gain of one threshold over another: each count
/// may differ by its square root.
static double doubtOf(const ThresholdSearch &search, const Counts &counts,
                      const Threshold &one, const Threshold &other) {
  auto gain = [&](const Counts &of) {
    auto bucketOf = [](const Threshold &threshold) {
      return size_t(threshold.least * double(kConfidenceBuckets));
    };
    return search.evaluate(one.k, bucketOf(one), of).gain /
           search.evaluate(other.k, bucketOf(other), of).gain;
  };
  double own = gain(counts), square = 0;
  for (size_t i = 0; i < kConfidenceBuckets; ++i)
    for (auto member : {&Counts::accepted, &Counts::rejected}) {
      Counts moved = counts;
      (moved.*member)[i] += std::sqrt((moved.*member)[i]);
      double change = gain(moved) - own;
      square += change * change;
    }
  return std::sqrt(square);
}

bool ThresholdReport::pays() const {
  return gain >= kLeastGain && gain - 1 > kDeviations * doubt;
}

/// Returns the counts of a profile; fails if there are too few.
static Result<Counts> countsOf(const Profile &profile) {
  const ConfidenceOutcomes &of = profile.confidence;
  uint64_t all = std::accumulate(of.tried.begin(), of.tried.end(), uint64_t(0));
  if (all < kLeastOutcomes)
    return failedPrecondition(strCat(
        "confidence_tried: expected at least ", kLeastOutcomes, " drafts of '",
        profile.model.drafter, "', got ", all,
        "; import with --confidence=0.5 or any other number, compile, and "
        "measure with mtp-tune"));
  Counts counts;
  for (size_t i = 0; i < kConfidenceBuckets; ++i) {
    counts.accepted[i] = double(of.accepted[i]);
    counts.rejected[i] = double(of.tried[i] - of.accepted[i]);
  }
  return counts;
}

/// Returns the share of accepted drafts by confidence over the share by
/// position. A server whose drafts end by confidence counts the drafts that
/// were left out as rejected by position, and none of its drafts by confidence.
static double levelOf(const Profile &profile) {
  Outcomes all = profile.allOutcomes();
  auto shareOf = [](const auto &accepted, const auto &tried) {
    double most = std::accumulate(tried.begin(), tried.end(), 0.0);
    double some = std::accumulate(accepted.begin(), accepted.end(), 0.0);
    return most > 0 ? some / most : 0;
  };
  double by = shareOf(all.accepted, all.tried);
  const ConfidenceOutcomes &of = profile.confidence;
  return by > 0 ? shareOf(of.accepted, of.tried) / by : 1;
}

Result<ThresholdReport>
profile::chooseThreshold(const Profile &profile, const MachineCosts &machine,
                         const ThresholdLimits &limits) {
  MTP_ASSIGN_OR_RETURN(Counts counts, countsOf(profile));
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  MTP_ASSIGN_OR_RETURN(NodeRates rates, NodeRates::of(profile));
  MTP_ASSIGN_OR_RETURN(RoundCosts costs, RoundCosts::of(machine, drafts));
  ThresholdSearch search(std::move(rates), levelOf(profile), std::move(costs),
                         profile.load);
  auto usual = size_t(limits.usual * double(kConfidenceBuckets));
  ThresholdReport report;
  report.usual = report.best =
      search.best(std::min(usual, kConfidenceBuckets - 1), limits, counts);
  for (size_t bucket = 0; bucket < kConfidenceBuckets; ++bucket)
    if (Threshold one = search.best(bucket, limits, counts);
        one.gain > report.best.gain)
      report.best = one;
  report.gain = report.best.gain / report.usual.gain;
  report.doubt = doubtOf(search, counts, report.best, report.usual);
  return report;
}

static std::string formatted(const char *format, double number) {
  char text[48];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

std::string profile::thresholdText(const ThresholdReport &report) {
  const Threshold &best = report.best;
  return strCat(
      report.pays() ? "confidence: a threshold pays: "
                    : "confidence: no other threshold pays: the best is ",
      formatted("%g", best.least), " with k = ", best.k, ", ",
      formatted("%.2f", best.tokens), " tokens, ",
      formatted("%.2f", best.drafts), " drafts, ",
      formatted("%.3f", best.seconds * 1e3), " ms a round of one slot, ",
      formatted("%.3f", report.gain), " +- ", formatted("%.3f", report.doubt),
      " of the tokens per second with ", formatted("%g", report.usual.least),
      " and k = ", report.usual.k, "\n");
}
