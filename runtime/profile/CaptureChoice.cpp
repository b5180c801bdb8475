//===- CaptureChoice.cpp - Which rounds get their own graphs --------------===//

#include "runtime/profile/CaptureChoice.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/DeviceLoop.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>

using namespace mtp;
using namespace mtp::profile;

/// Share of rounds that all shapes together have in equal parts: loads change.
static constexpr double kUnseenShare = 0.05;
/// Seconds to build a node: 17,207 nodes take 0.17 s on an H100
/// (tools/gpu-check/MEASURED.md).
static constexpr double kNodeSeconds = 1e-5;
/// Rounds over which the time to build a graph once is spread.
static constexpr double kHorizon = 1e5;
/// Limit on the time of a padding row, as a part of an active row's.
static constexpr double kMostPaddingPart = 2;
/// Candidates for captured sizes between a power of two and the next one.
static constexpr uint32_t kCandidates = 32;
/// Steps of a bisection, the number of prices that are tried, and the ratio of
/// two of them.
static constexpr int kSteps = 40, kPrices = 40;
static constexpr double kPriceStep = 1.5;

/// Share of rounds from which a launch is expected.
static constexpr double kExpectedShare = 1e-3;

uint32_t profile::capturedSize(const CaptureSizes &sizes, uint32_t k,
                               uint32_t slots) {
  auto own = sizes.find(k);
  if (own == sizes.end())
    return slots;
  auto next = std::ranges::lower_bound(own->second, slots);
  return next == own->second.end() ? slots : *next;
}

namespace {
/// The rounds of one k. Lists have an element for each number of slots, and one
/// for 0 slots.
struct RoundsOfK {
  std::vector<double> shares, seconds;
  std::vector<uint64_t> nodes;
  /// Sums up to each number of slots: of the shares, and of their times without
  /// padding.
  std::vector<double> before, timeBefore;
  /// The time of a padding row, as a part of an active row's.
  double paddingPart = 1;
  /// By captured size and number of slots, measured seconds.
  std::map<uint32_t, std::map<uint32_t, double>> padded;

  /// Returns the time of a round that runs the graph of `size` slots.
  double secondsIn(uint32_t size, uint32_t slots) const {
    return seconds[slots] + paddingPart * (seconds[size] - seconds[slots]);
  }
  /// Returns the time of all rounds of more than `least` slots, up to `size`,
  /// which run the graph of `size` slots.
  double secondsOf(uint32_t least, uint32_t size) const {
    double share = before[size] - before[least];
    double time = (1 - paddingPart) * (timeBefore[size] - timeBefore[least]) +
                  paddingPart * seconds[size] * share;
    auto own = padded.find(size);
    if (own == padded.end())
      return time;
    for (auto at = own->second.upper_bound(least); at != own->second.end();
         ++at)
      time += shares[at->first] * (at->second - secondsIn(size, at->first));
    return time;
  }
};

/// Chooses numbers of slots for the rounds of all k.
class CaptureChooser {
public:
  CaptureChooser(const CaptureInput &input, std::vector<RoundsOfK> rounds)
      : input(input), rounds(std::move(rounds)) {
    for (uint32_t slots = 1, step = 1; slots <= input.mostSlots;
         slots += step) {
      candidates.push_back(slots);
      while (slots >= 2 * kCandidates * step)
        step *= 2;
    }
    if (candidates.back() != input.mostSlots)
      candidates.push_back(input.mostSlots);
  }

  CaptureChoice choose() const;

private:
  std::vector<uint32_t> sizesOf(const RoundsOfK &of, double price) const;
  CaptureSizes sizesAt(double price) const;
  std::vector<CaptureGraph> graphsOf(const CaptureSizes &sizes) const;
  double secondsOf(const std::vector<CaptureGraph> &graphs) const;

  const CaptureInput &input;
  std::vector<RoundsOfK> rounds;
  std::vector<uint32_t> candidates;
};
} // namespace

/// Returns the sizes with the least time of all rounds, if each node costs
/// `price` seconds of a mean round.
std::vector<uint32_t> CaptureChooser::sizesOf(const RoundsOfK &of,
                                              double price) const {
  // By candidate, the least cost of all smaller numbers of slots if it is
  // captured, and the captured candidate before it.
  std::vector<double> least(candidates.size());
  std::vector<size_t> previous(candidates.size());
  for (size_t j = 0; j < candidates.size(); ++j) {
    uint32_t size = candidates[j];
    least[j] = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i <= j; ++i) {
      // No round has more padding than slots, whatever the next load is.
      uint32_t first = i == 0 ? 1 : candidates[i - 1] + 1;
      if (2 * first < size)
        continue;
      double done = i == 0 ? 0 : least[i - 1];
      double cost = done + of.secondsOf(first - 1, size);
      if (cost < least[j]) {
        least[j] = cost;
        previous[j] = i;
      }
    }
    least[j] += price * double(of.nodes[size]);
  }
  std::vector<uint32_t> sizes;
  for (size_t j = candidates.size(); j > 0; j = previous[j - 1])
    sizes.insert(sizes.begin(), candidates[j - 1]);
  return sizes;
}

CaptureSizes CaptureChooser::sizesAt(double price) const {
  CaptureSizes sizes;
  for (uint32_t k = 0; k < rounds.size(); ++k)
    sizes[k] = sizesOf(rounds[k], price);
  return sizes;
}

/// Returns the graphs of sizes, or of all numbers of slots without sizes.
std::vector<CaptureGraph>
CaptureChooser::graphsOf(const CaptureSizes &sizes) const {
  std::vector<CaptureGraph> graphs;
  for (uint32_t k = 0; k < rounds.size(); ++k) {
    const RoundsOfK &of = rounds[k];
    uint32_t before = 0;
    for (uint32_t n = 1; n <= input.mostSlots; ++n) {
      if (capturedSize(sizes, k, n) != n)
        continue;
      double share = of.before[n] - of.before[before];
      graphs.push_back(
          {k, n, share, of.nodes[n], of.secondsOf(before, n) / share});
      before = n;
    }
  }
  return graphs;
}

/// Returns the mean seconds of a round with graphs, of which the last used ones
/// are kept. Shapes follow each other at random. A graph that was not used for
/// some number of rounds is dropped, and all younger graphs have the limit's
/// nodes.
double
CaptureChooser::secondsOf(const std::vector<CaptureGraph> &graphs) const {
  // Returns the nodes of graphs that were used in the last `age` rounds.
  auto nodesAt = [&](double age) {
    double nodes = 0;
    for (const CaptureGraph &graph : graphs)
      nodes += double(graph.nodes) * (1 - std::exp(-graph.share * age));
    return nodes;
  };
  double young = 0, old = kHorizon;
  if (nodesAt(old) > double(input.mostNodes))
    for (int step = 0; step < kSteps; ++step) {
      double middle = (young + old) / 2;
      (nodesAt(middle) > double(input.mostNodes) ? old : young) = middle;
    }
  double seconds = 0;
  for (const CaptureGraph &graph : graphs)
    seconds +=
        graph.share * (graph.seconds + std::exp(-graph.share * old) *
                                           double(graph.nodes) * kNodeSeconds);
  return seconds;
}

/// Marks the graphs that a session expects and builds at its start. Graphs are
/// sorted by share.
static void markExpected(std::vector<CaptureGraph> &graphs) {
  uint64_t nodes = 0;
  for (CaptureGraph &graph : graphs) {
    if (graph.share < kExpectedShare)
      break;
    nodes += graph.nodes;
    graph.isExpected = true;
    graph.isBuilt = nodes <= uint64_t(tunable::kPreparedNodes.value);
  }
}

CaptureChoice CaptureChooser::choose() const {
  CaptureChoice choice;
  choice.graphs = graphsOf({});
  choice.seconds = choice.exactSeconds = secondsOf(choice.graphs);
  // A higher price of a node leaves fewer graphs.
  for (int tried = 0; tried < kPrices; ++tried) {
    double price = kNodeSeconds / kHorizon * std::pow(kPriceStep, tried);
    CaptureSizes sizes = sizesAt(price);
    std::vector<CaptureGraph> graphs = graphsOf(sizes);
    double seconds = secondsOf(graphs);
    if (seconds >= choice.seconds)
      continue;
    choice.seconds = seconds;
    choice.sizes = std::move(sizes);
    choice.graphs = std::move(graphs);
  }
  double exact = 0;
  for (const CaptureGraph &graph : choice.graphs) {
    choice.nodes += graph.nodes;
    exact += rounds[graph.k].shares[graph.slots];
  }
  choice.padded = choice.sizes.empty() ? 0 : std::max(1 - exact, 0.0);
  for (const RoundsOfK &of : rounds)
    for (const auto &[size, slots] : of.padded)
      choice.measured += uint32_t(slots.size());
  std::ranges::stable_sort(choice.graphs, std::greater(), &CaptureGraph::share);
  markExpected(choice.graphs);
  return choice;
}

//===----------------------------------------------------------------------===//
// From a profile
//===----------------------------------------------------------------------===//

/// Returns the share of rounds by k and number of slots; nothing without a
/// load.
static std::vector<std::vector<double>> sharesOf(const Load &load,
                                                 const CaptureInput &input) {
  std::vector<std::vector<double>> shares(
      input.mostK + 1, std::vector<double>(input.mostSlots + 1, 0));
  double all = 0;
  for (const auto &[shape, count] : load.rounds) {
    auto [slots, k] = shape;
    if (k > input.mostK || slots < 1 || slots > input.mostSlots)
      continue;
    shares[k][slots] += double(count);
    all += double(count);
  }
  if (all == 0)
    return {};
  double unseen =
      kUnseenShare / double(input.mostSlots) / double(input.mostK + 1);
  for (std::vector<double> &own : shares)
    for (uint32_t slots = 1; slots <= input.mostSlots; ++slots)
      own[slots] = own[slots] / all * (1 - kUnseenShare) + unseen;
  return shares;
}

namespace {
/// Measured seconds of rounds of one k by slots: the mean over contexts.
using SecondsBySlots = std::map<uint32_t, std::pair<double, double>>;
} // namespace

/// Returns the seconds of a number of slots, on lines through the two nearest
/// measured numbers. Fewer slots than the least number take its time, and the
/// time of a single number grows with the slots.
static double secondsAt(const SecondsBySlots &of, uint32_t slots) {
  auto meanOf = [](const auto &point) {
    return point.second.first / point.second.second;
  };
  auto high = of.lower_bound(slots);
  if (high == of.begin())
    return meanOf(*high);
  if (high == of.end())
    --high;
  if (high->first == slots)
    return meanOf(*high);
  if (high == of.begin())
    return meanOf(*high) * slots / high->first;
  auto low = std::prev(high);
  double share = double(slots - low->first) / double(high->first - low->first);
  return meanOf(*low) + (meanOf(*high) - meanOf(*low)) * share;
}

/// Returns the measured seconds by k. Only rounds with all drafts count, and of
/// each number of slots the contexts that the profile has.
static std::map<uint32_t, SecondsBySlots>
secondsByK(const MachineCosts &machine) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> mostRows;
  for (const Cost &cost : machine.costs)
    if (cost.isPlainRound()) {
      uint32_t &most = mostRows[{cost.k, cost.batch}];
      most = std::max(most, cost.rows);
    }
  std::map<uint32_t, SecondsBySlots> seconds;
  for (const Cost &cost : machine.costs)
    if (cost.isPlainRound() && cost.rows == mostRows[{cost.k, cost.batch}]) {
      auto &[sum, count] = seconds[cost.k][cost.batch];
      sum += machine.secondsOf(cost);
      ++count;
    }
  return seconds;
}

namespace {
/// A measured round with padding: slots, and the mean ratio of its time to the
/// time of the larger shape without padding.
struct PaddedRound {
  uint32_t slots = 0, size = 0;
  double ratio = 0;
};
} // namespace

/// Returns the measured rounds with padding by k, at contexts at which the
/// larger shape was measured with the same number of rows of each slot.
static std::map<uint32_t, std::vector<PaddedRound>>
paddedByK(const MachineCosts &machine) {
  // The round with the most rows of a shape at a context, which is the last
  // number of a key.
  using Shape = std::tuple<uint32_t, uint32_t, uint32_t>;
  std::map<std::pair<Shape, uint32_t>, Cost> costs;
  for (const Cost &cost : machine.costs) {
    if (cost.work != Work::Round)
      continue;
    Shape shape{cost.k, cost.batch + cost.padding, cost.padding};
    uint32_t context = bucketOf(cost.positions / cost.batch);
    auto [same, isNew] = costs.try_emplace({shape, context}, cost);
    if (!isNew && cost.rows > same->second.rows)
      same->second = cost;
  }
  std::map<Shape, std::pair<double, double>> ratios;
  for (const auto &[key, cost] : costs) {
    auto [k, size, padding] = key.first;
    auto larger = costs.find({Shape{k, size, 0}, key.second});
    if (padding == 0 || larger == costs.end())
      continue;
    // A server leaves out drafts. Fewer rows would make padding look free.
    const Cost &whole = larger->second;
    if (uint64_t(cost.rows) * size != uint64_t(whole.rows) * cost.batch)
      continue;
    auto &[sum, count] = ratios[key.first];
    sum += machine.secondsOf(cost) / machine.secondsOf(whole);
    ++count;
  }
  std::map<uint32_t, std::vector<PaddedRound>> padded;
  for (const auto &[shape, ratio] : ratios) {
    auto [k, size, padding] = shape;
    padded[k].push_back({size - padding, size, ratio.first / ratio.second});
  }
  return padded;
}

/// Adds measured rounds with padding. All of them together tell the time of a
/// padding row in rounds that were not measured.
static void addPadded(const std::vector<PaddedRound> &padded, RoundsOfK &to) {
  double more = 0, most = 0;
  for (const PaddedRound &one : padded) {
    if (one.size >= to.seconds.size())
      continue;
    double own = to.seconds[one.slots];
    // Padding makes no round shorter, whatever noise says.
    double time = std::max(one.ratio * to.seconds[one.size], own);
    to.padded[one.size][one.slots] = time;
    more += time - own;
    most += to.seconds[one.size] - own;
  }
  if (most > 0)
    to.paddingPart = std::min(more / most, kMostPaddingPart);
}

std::optional<CaptureChoice>
profile::chooseCaptures(const MachineCosts &machine, const Load &load,
                        const CaptureInput &input) {
  std::map<uint32_t, SecondsBySlots> measured = secondsByK(machine);
  std::map<uint32_t, std::vector<PaddedRound>> padded = paddedByK(machine);
  std::vector<std::vector<double>> shares = sharesOf(load, input);
  if (measured.empty() || shares.empty())
    return std::nullopt;
  std::vector<RoundsOfK> rounds;
  for (uint32_t k = 0; k <= input.mostK; ++k) {
    // A k without costs takes the time of the next larger one, or the largest.
    auto own = measured.lower_bound(k);
    const SecondsBySlots &times =
        own == measured.end() ? measured.rbegin()->second : own->second;
    RoundsOfK of{shares[k], {0}, {0}, {0}, {0}, 1, {}};
    for (uint32_t n = 1; n <= input.mostSlots; ++n) {
      // More slots take no less time, whatever noise says.
      of.seconds.push_back(std::max(of.seconds.back(), secondsAt(times, n)));
      of.nodes.push_back(input.nodesOf(k, n));
      of.before.push_back(of.before.back() + of.shares[n]);
      of.timeBefore.push_back(of.timeBefore.back() +
                              of.shares[n] * of.seconds[n]);
    }
    if (own != measured.end())
      addPadded(padded[own->first], of);
    rounds.push_back(std::move(of));
  }
  return CaptureChooser(input, std::move(rounds)).choose();
}

std::optional<CaptureInput>
profile::captureInputOf(const MachineCosts &machine) {
  CaptureInput input;
  std::map<uint32_t, uint64_t> nodes;
  for (const Cost &cost : machine.costs)
    if (cost.work == Work::Round && cost.nodes > 0) {
      input.mostSlots = std::max(input.mostSlots, cost.batch + cost.padding);
      input.mostK = std::max(input.mostK, cost.k);
      nodes[cost.k] = std::max<uint64_t>(nodes[cost.k], cost.nodes);
    }
  if (nodes.empty())
    return std::nullopt;
  input.mostNodes = kMostRoundNodes;
  input.nodesOf = [nodes](uint32_t k, uint32_t) {
    auto own = nodes.lower_bound(k);
    return own == nodes.end() ? nodes.rbegin()->second : own->second;
  };
  return input;
}

std::optional<CaptureChoice> profile::capturesOf(const MachineCosts &machine,
                                                 const Load &load) {
  std::optional<CaptureInput> input = captureInputOf(machine);
  if (!input)
    return std::nullopt;
  return chooseCaptures(machine, load, *input);
}

size_t CaptureChoice::built() const {
  return size_t(std::ranges::count(graphs, true, &CaptureGraph::isBuilt));
}

std::string profile::captureText(const CaptureChoice &choice) {
  char numbers[160];
  std::snprintf(numbers, sizeof(numbers),
                "%.3f times the rate of a graph for each number of slots "
                "(predicted), padding in %.1f %% of rounds",
                choice.exactSeconds / choice.seconds, choice.padded * 100);
  std::string text = strCat("graphs  ", choice.graphs.size(), " with ",
                            choice.nodes, " nodes, ", numbers, "\n");
  text += strCat("graphs  ", choice.built(), " are built at the start\n");
  text += choice.measured > 0
              ? strCat("graphs  ", choice.measured,
                       " times of measured rounds with padding are used\n")
              : "graphs  padding rows count as active rows: none was "
                "measured\n";
  if (choice.sizes.empty())
    text += "graphs  one for each number of slots\n";
  for (const auto &[k, sizes] : choice.sizes) {
    text += strCat("graphs  k = ", k, ", slots ");
    for (size_t i = 0; i < sizes.size(); ++i)
      text += strCat(i ? "," : "", sizes[i]);
    text += "\n";
  }
  return text;
}
