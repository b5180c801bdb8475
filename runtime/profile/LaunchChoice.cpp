//===- LaunchChoice.cpp - How many rounds a launch has --------------------===//

#include "runtime/profile/LaunchChoice.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

using namespace mtp;
using namespace mtp::profile;

/// Output tokens of a sequence if the load has no lengths.
static constexpr double kAssumedTokens = 128;
/// The number of outcomes from which a position's rate is used.
static constexpr uint64_t kLeastTried = 20;
/// The number of launches beyond which a cost has no more weight.
static constexpr uint64_t kMostWeight = 64;
/// Least deviation of a time, as a share of it.
static constexpr double kLeastDeviation = 1e-3;
/// Half of the distance between quartiles, and the deviation of a median, in
/// deviations of a normal distribution.
static constexpr double kQuartile = 0.6745, kMedian = 1.2533;

namespace {
/// The seconds of launches of one shape: `launch` for each launch and `round`
/// for each of its rounds.
struct LaunchLine {
  double launch = 0, round = 0;
  /// Seconds of a launch of one round, which needs no loop.
  double single = 0;
  /// Deviation of the mean seconds of a round, as a share of it.
  double doubt = 0;
};

/// Sums for a line by least squares, weighed by deviations.
struct LineFit {
  double weight = 0, rounds = 0, seconds = 0, squares = 0, products = 0;
  size_t points = 0;

  void add(const LaunchCost &cost) {
    double count = double(std::min(cost.count, kMostWeight));
    double deviation = std::max((cost.upper - cost.lower) / 2 / kQuartile *
                                    kMedian / std::sqrt(count),
                                kLeastDeviation * cost.lower);
    double own = 1 / (deviation * deviation), n = cost.rounds;
    weight += own;
    rounds += own * n;
    seconds += own * cost.lower;
    squares += own * n * n;
    products += own * n * cost.lower;
    ++points;
  }
  /// Returns the line; nothing unless it rises.
  std::optional<LaunchLine> line() const {
    double all = weight * squares - rounds * rounds;
    if (points < 2 || !(all > 0))
      return std::nullopt;
    LaunchLine of;
    of.round = (weight * products - rounds * seconds) / all;
    of.launch = (seconds - of.round * rounds) / weight;
    if (of.launch < 0)
      of = {0, products / squares};
    if (!(of.round > 0))
      return std::nullopt;
    of.single = of.launch + of.round;
    of.doubt = std::sqrt(weight / all) / of.round;
    return of;
  }
};

/// By slots, lines of one k.
using LinesBySlots = std::map<uint32_t, LaunchLine>;
} // namespace

/// Returns the line of launches of one shape. A launch of one round, which has
/// no loop, counts only if one other number of rounds was measured.
static std::optional<LaunchLine>
lineOf(const std::vector<const LaunchCost *> &costs) {
  LineFit loops, all;
  double single = 0;
  for (const LaunchCost *cost : costs) {
    all.add(*cost);
    if (cost->rounds > 1)
      loops.add(*cost);
    else
      single = cost->lower;
  }
  // Launches of one round alone say nothing about a loop.
  if (loops.points == 0)
    return std::nullopt;
  std::optional<LaunchLine> line = loops.points > 1 ? loops.line() : all.line();
  if (line && single > 0)
    line->single = single;
  return line;
}

/// Returns the lines by k. Those of several programs and contexts become means.
static std::map<uint32_t, LinesBySlots> linesOf(const MachineCosts &machine) {
  using Shape = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t>;
  std::map<Shape, std::vector<const LaunchCost *>> shapes;
  for (const LaunchCost &cost : machine.launches)
    shapes[{cost.program, cost.batch, cost.k,
            bucketOf(cost.positions / cost.batch)}]
        .push_back(&cost);
  std::map<std::pair<uint32_t, uint32_t>, std::pair<LaunchLine, double>> sums;
  for (const auto &[shape, costs] : shapes) {
    std::optional<LaunchLine> line = lineOf(costs);
    if (!line)
      continue;
    auto &[sum, count] = sums[{std::get<2>(shape), std::get<1>(shape)}];
    sum.launch += line->launch;
    sum.round += line->round;
    sum.single += line->single;
    sum.doubt += line->doubt;
    ++count;
  }
  std::map<uint32_t, LinesBySlots> lines;
  for (const auto &[shape, of] : sums) {
    const auto &[sum, count] = of;
    lines[shape.first][shape.second] = {sum.launch / count, sum.round / count,
                                        sum.single / count, sum.doubt / count};
  }
  return lines;
}

/// Returns the line for a number of slots, between the lines of the nearest
/// measured numbers.
static LaunchLine lineAt(const LinesBySlots &lines, uint32_t slots) {
  auto high = lines.lower_bound(slots);
  if (high == lines.end())
    return lines.rbegin()->second;
  if (high == lines.begin() || high->first == slots)
    return high->second;
  auto low = std::prev(high);
  double share = double(slots - low->first) / double(high->first - low->first);
  auto between = [&](double LaunchLine::*of) {
    double from = low->second.*of, to = high->second.*of;
    return from + (to - from) * share;
  };
  return {between(&LaunchLine::launch), between(&LaunchLine::round),
          between(&LaunchLine::single), between(&LaunchLine::doubt)};
}

/// Returns the seconds by which an ended sequence makes a round longer: those
/// of its rows. With one slot the launch ends.
static double secondsOfSlot(const LinesBySlots &lines, uint32_t slots) {
  if (slots <= 1)
    return 0;
  double all = lineAt(lines, slots).round;
  if (lines.size() == 1)
    return all / slots;
  // The nearest two measured numbers.
  auto high = lines.lower_bound(slots);
  if (high == lines.end())
    --high;
  if (high == lines.begin())
    ++high;
  auto low = std::prev(high);
  double rise = (high->second.round - low->second.round) /
                double(high->first - low->first);
  return std::clamp(rise, 0.0, all / slots);
}

/// Returns the mean tokens of a round with k drafts. Positions with few
/// outcomes count as rejected.
static double tokensOfRound(const Outcomes &outcomes, uint32_t k) {
  double length = 1, all = 1;
  for (uint32_t j = 0; j < k && j < outcomes.tried.size(); ++j) {
    if (outcomes.tried[j] < kLeastTried)
      break;
    all *= double(outcomes.accepted[j]) / double(outcomes.tried[j]);
    length += all;
  }
  return length;
}

/// Returns the mean of a histogram's values; 0 if it is empty.
static double meanOf(const std::vector<uint64_t> &histogram) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    double middle = i == 0 ? 1 : 1.5 * double(uint64_t(1) << i);
    sum += middle * double(histogram[i]);
    count += double(histogram[i]);
  }
  return count > 0 ? sum / count : 0;
}

/// Returns the mean seconds of a round of `slots` slots whose sequences have
/// `life` rounds, if a launch has at most `rounds` rounds.
static double secondsOfRound(const LinesBySlots &lines, uint32_t slots,
                             double life, uint32_t rounds) {
  LaunchLine line = lineAt(lines, slots);
  if (rounds == 1)
    return line.single;
  // Each sequence ends one launch early: by its end if a prompt waits, else
  // the next prompt does.
  double ends = std::min(double(slots) / life, 1.0);
  double length = (1 - std::pow(1 - ends, double(rounds))) / ends;
  double seconds = line.round + line.launch / length;
  // Rows of ended sequences to the end of the launch.
  seconds += ends * (length - 1) / 2 * secondsOfSlot(lines, slots);
  // A new prompt waits for a round that has begun. Its slot is idle meanwhile.
  return seconds * (1 + 1 / life);
}

namespace {
/// A shape of the load and its share.
struct LoadShape {
  uint32_t slots = 1, k = 0;
  double share = 0;
};
} // namespace

/// Returns the shapes of the load within the limits, or the measured shapes in
/// equal shares. The shares add up to 1.
static std::vector<LoadShape>
shapesOf(const Load &load, const std::map<uint32_t, LinesBySlots> &lines,
         const LaunchInput &input) {
  std::vector<LoadShape> shapes;
  double all = 0;
  auto add = [&](uint32_t slots, uint32_t k, double count) {
    if (slots > input.mostSlots || k > input.mostK)
      return;
    shapes.push_back({slots, k, count});
    all += count;
  };
  for (const auto &[shape, count] : load.rounds)
    add(shape.first, shape.second, double(count));
  if (shapes.empty())
    for (const auto &[k, bySlots] : lines)
      for (const auto &[slots, line] : bySlots)
        add(slots, k, 1);
  for (LoadShape &shape : shapes)
    shape.share /= all;
  return shapes;
}

/// Returns the lines of the nearest k.
static const LinesBySlots &
nearestK(const std::map<uint32_t, LinesBySlots> &lines, uint32_t k) {
  auto high = lines.lower_bound(k);
  if (high == lines.end())
    return lines.rbegin()->second;
  if (high == lines.begin() || high->first - k <= k - std::prev(high)->first)
    return high->second;
  return std::prev(high)->second;
}

/// Returns the mean seconds of a round over the load's shapes, whose shares add
/// up to 1.
static LaunchOption optionOf(const std::map<uint32_t, LinesBySlots> &lines,
                             const std::vector<LoadShape> &shapes,
                             const Outcomes &outcomes, double tokens,
                             uint32_t rounds) {
  LaunchOption option;
  option.rounds = rounds;
  double variance = 0;
  for (const LoadShape &shape : shapes) {
    const LinesBySlots &own = nearestK(lines, shape.k);
    double life = std::max(tokens / tokensOfRound(outcomes, shape.k), 1.0);
    double seconds =
        shape.share * secondsOfRound(own, shape.slots, life, rounds);
    option.seconds += seconds;
    variance += std::pow(lineAt(own, shape.slots).doubt * seconds, 2);
  }
  option.doubt = std::sqrt(variance);
  return option;
}

/// Takes the best option if it is better than the usual one beyond doubt.
static void pick(LaunchChoice &choice) {
  const LaunchOption usual = *std::ranges::find(
      choice.options, choice.usualRounds, &LaunchOption::rounds);
  choice.rounds = usual.rounds;
  for (LaunchOption &option : choice.options)
    option.gain = usual.seconds / option.seconds;
  const LaunchOption &best =
      *std::ranges::min_element(choice.options, {}, &LaunchOption::seconds);
  double doubt = best.gain * std::hypot(best.doubt / best.seconds,
                                        usual.doubt / usual.seconds);
  if (best.gain - 1 <= doubt)
    return;
  choice.rounds = best.rounds;
  choice.gain = best.gain;
  choice.doubt = doubt;
}

std::optional<LaunchChoice> profile::chooseLaunch(const Profile &profile,
                                                  const MachineCosts &machine,
                                                  const LaunchInput &input) {
  std::map<uint32_t, LinesBySlots> lines = linesOf(machine);
  std::vector<LoadShape> shapes = shapesOf(profile.load, lines, input);
  if (lines.empty() || shapes.empty() || input.mostRounds <= 1)
    return std::nullopt;
  LaunchChoice choice;
  choice.usualRounds = input.usualRounds;
  choice.tokens = meanOf(profile.load.outputs);
  choice.isAssumed = choice.tokens == 0;
  if (choice.isAssumed)
    choice.tokens = kAssumedTokens;
  std::set<uint32_t> numbers = {input.usualRounds, input.mostRounds};
  for (uint32_t power = 1; power < input.mostRounds; power *= 2)
    numbers.insert(power);
  Outcomes outcomes = profile.allOutcomes();
  for (uint32_t rounds : numbers)
    choice.options.push_back(
        optionOf(lines, shapes, outcomes, choice.tokens, rounds));
  pick(choice);
  return choice;
}

std::optional<LaunchChoice> profile::launchOf(const Profile &profile,
                                              const MachineCosts &machine) {
  LaunchInput input;
  input.mostRounds = uint32_t(kRingRounds);
  input.usualRounds = uint32_t(tunable::kRoundsPerLaunch.value);
  return chooseLaunch(profile, machine, input);
}

std::string profile::launchText(const LaunchChoice &choice) {
  char numbers[160];
  std::snprintf(numbers, sizeof(numbers),
                "%.3f +- %.3f times the rate of %u (predicted), %.0f tokens of "
                "output%s",
                choice.gain, choice.doubt, choice.usualRounds, choice.tokens,
                choice.isAssumed ? " (assumed)" : "");
  std::string text =
      strCat("rounds per launch  ", choice.rounds, ", ", numbers, "\n");
  for (const LaunchOption &option : choice.options) {
    std::snprintf(numbers, sizeof(numbers), "%10.1f us per round, %.3f",
                  option.seconds * 1e6, option.gain);
    text += strCat("rounds per launch  ", option.rounds, "  ", numbers, "\n");
  }
  return text;
}
