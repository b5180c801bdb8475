//===- VocabularyChoice.cpp - Tokens that a drafter proposes --------------===//

#include "runtime/profile/VocabularyChoice.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/TreeChoice.h"

#include <algorithm>
#include <cstdio>

using namespace mtp;
using namespace mtp::profile;

/// Sizes are multiples of this number, and the gain that counts.
static constexpr size_t kStep = 32;
static constexpr double kLeastGain = 1.01;

namespace {
/// Expected speed of rounds by the size of the vocabulary.
class VocabularySpeed {
public:
  VocabularySpeed(const Profile &profile, const MachineCosts &machine,
                  RoundCosts costs, std::vector<double> accepted)
      : head(profile.head), costs(std::move(costs)),
        accepted(std::move(accepted)),
        shares(slotShares(profile.load, this->costs.mostSlots())) {
    for (const Cost &cost : machine.costs)
      if (cost.isPlainRound() && cost.k > 0) {
        uint32_t &rows = windows[cost.k];
        rows = std::max(rows, cost.rows / cost.batch);
      }
  }

  /// Returns the tokens per second over plain steps, with the best of the
  /// measured numbers of drafts for each number of slots. The head has
  /// `columns` columns and keeps a share of the accepted nodes.
  double gain(double columns, double kept) const {
    double sum = 0;
    for (const auto &[slots, share] : shares) {
      double best = 1;
      for (const auto &[k, rows] : windows)
        best = std::max(best, tokensOf(k, kept) * costs.target(slots) /
                                  seconds(k, rows, slots, columns));
      sum += share * best;
    }
    return sum;
  }

private:
  /// Returns the tokens of a slot per round. A draft is kept with all drafts
  /// above it.
  double tokensOf(uint32_t k, double kept) const {
    double tokens = 1, all = 1;
    for (size_t depth = 0; depth < std::min<size_t>(k, accepted.size());
         ++depth)
      tokens += accepted[depth] * (all *= kept);
    return tokens;
  }

  double seconds(uint32_t k, uint32_t rows, double slots,
                 double columns) const {
    double saved = head.share * (1 - columns / head.vocab);
    return costs.target(slots * rows) + costs.drafting(k, slots) * (1 - saved);
  }

  DraftHead head;
  RoundCosts costs;
  /// By depth, how often the whole vocabulary's drafts are accepted.
  std::vector<double> accepted;
  std::map<uint32_t, double> shares;
  /// Verified rows of a slot by k.
  std::map<uint32_t, uint32_t> windows;
};
} // namespace

/// Returns tokens and the number of their accepted drafts, the most frequent
/// first.
static std::vector<std::pair<uint64_t, uint32_t>>
tokensByCount(const TokenCounts &counts, uint32_t vocab) {
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (const auto &[token, count] : counts.counts)
    if (count.accepted > 0 && token < vocab)
      order.emplace_back(count.accepted, token);
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto &of) { return of.first; });
  return order;
}

/// Returns the number of accepted drafts that stand beside the counts of
/// tokens. Counts of tokens lose weight at other times than outcomes. If
/// outcomes have lost more, the sum over tokens stands for them. Then each
/// token whose count of accepted drafts was too small to be written has the
/// largest such count.
static uint64_t acceptedDrafts(const Profile &profile) {
  uint64_t outcomes = 0, counted = 0, small = 0;
  for (uint64_t count : profile.allOutcomes().accepted)
    outcomes += count;
  for (const auto &[token, count] : profile.tokens.counts) {
    counted += count.accepted;
    small += count.accepted == 0;
  }
  if (counted > outcomes)
    return counted + small * (kLeastTokenCount - 1);
  return std::max<uint64_t>(outcomes, 1);
}

Result<VocabularyChoice>
profile::chooseVocabulary(const Profile &profile, const MachineCosts &machine) {
  if (profile.head.vocab == 0)
    return failedPrecondition(
        "head: expected a drafter whose head reads the whole vocabulary, got "
        "none; measure such an artifact with mtp-tune");
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  MTP_ASSIGN_OR_RETURN(RoundCosts costs, RoundCosts::of(machine, drafts));
  MTP_ASSIGN_OR_RETURN(std::vector<double> accepted, acceptedByDepth(profile));
  VocabularySpeed speed(profile, machine, std::move(costs),
                        std::move(accepted));
  auto order = tokensByCount(profile.tokens, profile.head.vocab);
  if (order.empty())
    return failedPrecondition(
        strCat("tokens: expected tokens that were accepted at least ",
               kLeastTokenCount, " times, got none; measure longer texts"));
  uint64_t kept = 0, all = acceptedDrafts(profile);
  VocabularyChoice choice;
  choice.vocab = profile.head.vocab;
  choice.counted = uint32_t(order.size());
  double whole = speed.gain(choice.vocab, 1);
  size_t best = 0;
  for (size_t size = 1; size <= order.size(); ++size) {
    kept += order[size - 1].first;
    if (size % kStep != 0 && size != order.size())
      continue;
    double covered = double(kept) / double(all);
    double gain = speed.gain(double(size), covered) / whole;
    if (gain < kLeastGain || gain <= choice.gain)
      continue;
    choice.gain = gain;
    choice.covered = covered;
    best = size;
  }
  for (size_t i = 0; i < best; ++i)
    choice.tokens.push_back(int32_t(order[i].second));
  std::ranges::sort(choice.tokens);
  return choice;
}

std::string profile::vocabularyText(const VocabularyChoice &choice) {
  if (choice.tokens.empty())
    return strCat("draft vocabulary: all ", choice.vocab,
                  " tokens; no part of the ", choice.counted,
                  " tokens with counts pays\n");
  char text[120];
  std::snprintf(text, sizeof(text),
                "%.2f of the accepted drafts, %.2f of the whole vocabulary's "
                "tokens per second",
                choice.covered, choice.gain);
  return strCat("draft vocabulary: ", choice.tokens.size(), " of ",
                choice.vocab, " tokens, ", text,
                " (mtpc --draft-vocab=profile)\n");
}
