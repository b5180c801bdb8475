//===- Resample.cpp - How noise changes a prediction ----------------------===//

#include "tools/mtp-tune/Resample.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mtp;
using namespace mtp::tune;

/// The number of copies: a deviation of 16 numbers is right to a fifth.
static constexpr int kCopies = 16;

namespace {
/// Draws numbers with a fixed seed for each copy, so that equal profiles have
/// equal reports.
class Noise {
public:
  explicit Noise(int copy) : generator(uint64_t(copy)) {}

  /// Draws the number of accepted drafts again.
  void draw(uint64_t tried, uint64_t &accepted) {
    if (tried == 0)
      return;
    double rate = double(accepted) / double(tried);
    double drawn =
        double(accepted) +
        std::sqrt(double(tried) * rate * (1 - rate)) * normal(generator);
    accepted = uint64_t(std::clamp(std::round(drawn), 0.0, double(tried)));
  }

  template <typename Counts>
  void draw(const Counts &tried, Counts &accepted) {
    for (size_t i = 0; i < std::min(tried.size(), accepted.size()); ++i)
      draw(uint64_t(tried[i]), accepted[i]);
  }

  void draw(profile::Cost &cost) {
    double factor = std::exp(cost.doubt() * normal(generator));
    cost.lower *= factor;
    cost.median *= factor;
    cost.upper *= factor;
  }

private:
  std::mt19937_64 generator;
  std::normal_distribution<double> normal;
};
} // namespace

Resamples::Resamples(const profile::Profile &profile,
                     const profile::MachineCosts &machine) {
  for (int i = 0; i < kCopies; ++i) {
    Noise noise(i);
    profile::Profile &copy = copies.emplace_back(profile);
    copy.machines = {machine};
    for (profile::Outcomes &of : copy.outcomes)
      noise.draw(of.tried, of.accepted);
    for (auto &[path, count] : copy.nodes.counts)
      noise.draw(count.tried, count.accepted);
    for (profile::Cost &cost : copy.machines[0].costs)
      noise.draw(cost);
  }
}

std::optional<double> Resamples::doubtOf(const GainOf &gainOf) const {
  double sum = 0, squares = 0;
  for (const profile::Profile &copy : copies) {
    std::optional<double> gain = gainOf(copy, copy.machines[0]);
    if (!gain)
      return std::nullopt;
    sum += *gain;
    squares += *gain * *gain;
  }
  double mean = sum / kCopies;
  return std::sqrt(std::max(squares / kCopies - mean * mean, 0.0) * kCopies /
                   (kCopies - 1));
}
