//===- Mixture.cpp - Formats under a budget of bits -----------------------===//

#include "compiler/Quantize/Mixture.h"

#include <optional>

namespace mtp {

namespace {

/// Bits by which the mean may exceed the budget, for rounded sums.
constexpr double kTolerance = 1e-9;

/// An item with its next format.
struct Step {
  size_t item;
  double gain, cost;
};

/// Returns the step of the largest gain per bit that costs at most `rest`.
std::optional<Step> bestStep(const std::vector<MixtureItem> &items,
                             const std::vector<size_t> &chosen, double rest) {
  std::optional<Step> best;
  for (size_t i = 0; i < items.size(); ++i) {
    size_t next = chosen[i] + 1;
    const MixtureItem &item = items[i];
    if (next >= item.bits.size())
      continue;
    Step step{i, item.errors[chosen[i]] - item.errors[next],
              item.elements * (item.bits[next] - item.bits[chosen[i]])};
    if (step.cost > rest)
      continue;
    if (!best || step.gain * best->cost > best->gain * step.cost)
      best = step;
  }
  return best;
}

} // namespace

std::vector<size_t> chooseMixture(const std::vector<MixtureItem> &items,
                                  double budget) {
  std::vector<size_t> chosen(items.size(), 0);
  double rest = 0;
  for (const MixtureItem &item : items)
    rest += item.elements * (budget - item.bits.front() + kTolerance);
  while (std::optional<Step> step = bestStep(items, chosen, rest)) {
    ++chosen[step->item];
    rest -= step->cost;
  }
  return chosen;
}

} // namespace mtp
