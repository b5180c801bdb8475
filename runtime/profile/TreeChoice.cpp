//===- TreeChoice.cpp - The static tree that a profile favors -------------===//

#include "runtime/profile/TreeChoice.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>

using namespace mtp;
using namespace mtp::profile;

/// The number of outcomes from which a rate is used.
static constexpr uint64_t kLeastTried = 20;

//===----------------------------------------------------------------------===//
// Measured drafts
//===----------------------------------------------------------------------===//

/// Returns the number after `key` in a drafter's name, skipping `commas`
/// numbers; 0 if there is none.
static uint32_t numberAfter(std::string_view name, std::string_view key,
                            int commas) {
  size_t at = name.find(key);
  if (at == std::string_view::npos)
    return 0;
  for (at += key.size(); commas > 0; --commas) {
    at = name.find(',', at);
    if (at == std::string_view::npos)
      return 0;
    ++at;
  }
  uint32_t number = 0;
  std::from_chars(name.data() + at, name.data() + name.size(), number);
  return number;
}

/// Returns whether a drafter makes all drafts of a round in one pass. Its name
/// begins with a method (toString() of compiler/Import/drafters), after a
/// lookup that comes before it.
static bool draftsBlocks(std::string_view name) {
  constexpr std::string_view kBefore = " before ";
  if (size_t at = name.find(kBefore); at != std::string_view::npos)
    name.remove_prefix(at + kBefore.size());
  std::string_view method = name.substr(0, name.find(':'));
  return method == "dflash" || method == "dspark" || method == "pard" ||
         method == "p-eagle";
}

Result<MeasuredDrafts> MeasuredDrafts::of(const Profile &profile) {
  const std::string &name = profile.model.drafter;
  if (name.find("lookahead") != std::string::npos)
    return failedPrecondition(
        strCat("model.drafter: expected a chain or a tree that --draft-tree "
               "arranges, got '",
               name, "'"));
  MeasuredDrafts drafts;
  drafts.isOnePass = draftsBlocks(name);
  // By depth of the parent, the nodes that have children.
  std::vector<std::set<Path>> parents;
  for (const auto &[path, count] : profile.nodes.counts) {
    drafts.isTree |= path.back() > 0;
    parents.resize(std::max(parents.size(), path.size()));
    parents[path.size() - 1].insert({path.begin(), path.end() - 1});
  }
  // A pass of a dynamic tree has the rows of its width, whatever is verified.
  if (uint32_t width = numberAfter(name, ":dynamic:", 1)) {
    drafts.isTree = true;
    drafts.rows.push_back(width);
  } else if (drafts.isTree || name.find(":tree:") != std::string::npos) {
    drafts.isTree = true;
    drafts.rows.clear();
    for (const std::set<Path> &nodes : parents)
      drafts.rows.push_back(double(nodes.size()));
    if (drafts.rows.empty())
      drafts.rows.push_back(1);
  }
  return drafts;
}

double MeasuredDrafts::moreRows(uint32_t k, double slots) const {
  if (isOnePass)
    return k > 0 ? slots * k - 1 : 0;
  double more = 0;
  for (uint32_t pass = 0; pass < k; ++pass)
    more += slots * rows[std::min<size_t>(pass, rows.size() - 1)] - 1;
  return more;
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

Result<NodeRates> NodeRates::of(const Profile &profile) {
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  // A profile that is older than the counts of nodes has all outcomes of a
  // chain by position, and few or none by node.
  if (drafts.isChain())
    return ofChain(profile);
  std::map<std::pair<size_t, uint32_t>, DraftCount> sums;
  for (const auto &[path, count] : profile.nodes.counts) {
    DraftCount &sum = sums[{path.size(), path.back()}];
    sum.tried += count.tried;
    sum.accepted += count.accepted;
  }
  NodeRates rates;
  uint64_t most = 0;
  for (const auto &[place, sum] : sums) {
    most = std::max(most, sum.tried);
    if (sum.tried >= kLeastTried)
      rates.rates[place] = double(sum.accepted) / double(sum.tried);
  }
  if (!rates.rates.empty())
    return rates;
  return failedPrecondition(
      strCat("nodes.tried: expected at least ", kLeastTried, " of a node of '",
             profile.model.drafter, "', got ", most,
             "; import a dynamic tree with --show-drafts, compile it, and "
             "measure it with mtp-tune"));
}

Result<NodeRates> NodeRates::ofChain(const Profile &profile) {
  Outcomes outcomes = profile.allOutcomes();
  NodeRates rates;
  for (size_t i = 0; i < outcomes.tried.size(); ++i)
    if (outcomes.tried[i] >= kLeastTried)
      rates.rates[{i + 1, 0}] =
          double(outcomes.accepted[i]) / double(outcomes.tried[i]);
  if (rates.rates.empty())
    return failedPrecondition(strCat(
        "outcomes.tried: expected at least ", kLeastTried, " of draft 1, got ",
        outcomes.tried.empty() ? 0 : outcomes.tried[0],
        "; measure a model that drafts with mtp-tune"));
  return rates;
}

uint32_t NodeRates::ranks() const {
  uint32_t most = 0;
  for (const auto &[place, rate] : rates)
    most = std::max(most, place.second + 1);
  return most;
}

double NodeRates::rate(size_t depth, uint32_t rank) const {
  auto found = rates.find({depth, rank});
  return found == rates.end() ? 0 : found->second;
}

double NodeRates::pathRate(const Path &path) const {
  double all = 1;
  for (size_t depth = 0; depth < path.size(); ++depth)
    all *= rate(depth + 1, path[depth]);
  return all;
}

Result<std::vector<double>> profile::acceptedByDepth(const Profile &profile) {
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  MTP_ASSIGN_OR_RETURN(NodeRates rates, NodeRates::of(profile));
  std::vector<double> accepted;
  if (drafts.isChain()) {
    double all = 1;
    for (size_t depth = 1; (all *= rates.rate(depth, 0)) > 0; ++depth)
      accepted.push_back(all);
    return accepted;
  }
  // Each round tries the first node. An accepted node is counted in each round
  // that accepts it, whichever other nodes the round has.
  uint64_t rounds = 0;
  for (const auto &[path, count] : profile.nodes.counts)
    if (path.size() == 1)
      rounds = std::max(rounds, count.tried);
  for (const auto &[path, count] : profile.nodes.counts) {
    accepted.resize(std::max(accepted.size(), path.size()));
    accepted[path.size() - 1] +=
        double(count.accepted) / double(std::max<uint64_t>(rounds, 1));
  }
  for (double &share : accepted)
    share = std::min(share, 1.0);
  return accepted;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Returns the number of nodes with children by their depth; the anchor is at
/// depth 0.
static std::vector<size_t> parentsByDepth(const std::vector<Path> &paths) {
  std::vector<size_t> counts;
  for (const Path &path : paths) {
    // Children of a node start with the best one.
    if (path.back() != 0)
      continue;
    counts.resize(std::max(counts.size(), path.size()));
    ++counts[path.size() - 1];
  }
  return counts;
}

double RoundCosts::target(double rows) const {
  auto above = steps.lower_bound(rows);
  if (above == steps.end()) {
    const auto &[most, seconds] = *steps.rbegin();
    return seconds + row * (rows - most);
  }
  if (above->first == rows || above == steps.begin())
    return above->second;
  auto below = std::prev(above);
  double share = (rows - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

double RoundCosts::drafting(uint32_t k, double slots) const {
  return drafts.passes(k) * draft + drafts.moreRows(k, slots) * draftRow;
}

double RoundCosts::drafting(const std::vector<Path> &paths,
                            double slots) const {
  if (drafts.isBlock())
    return drafting(uint32_t(paths.size()), slots);
  double seconds = 0;
  for (size_t count : parentsByDepth(paths))
    seconds += drafter(slots * double(count));
  return seconds;
}

std::vector<uint32_t> RoundCosts::measuredRows() const {
  std::vector<uint32_t> rows;
  for (const auto &[count, seconds] : steps)
    rows.push_back(uint32_t(count));
  return rows;
}

/// Fits the three unknown times to rounds with drafts: least squares with
/// numbers of at least 0, one unknown after another.
void RoundCosts::fit(const std::vector<Cost> &rounds,
                     const MachineCosts &machine) {
  constexpr int kSweeps = 2000;
  std::array<double *, 3> unknowns = {&row, &draft, &draftRow};
  double most = steps.rbegin()->first;
  std::vector<std::array<double, 3>> factors;
  std::vector<double> rest;
  for (const Cost &cost : rounds) {
    factors.push_back({std::max(double(cost.rows) - most, 0.0),
                       double(drafts.passes(cost.k)),
                       drafts.moreRows(cost.k, cost.batch)});
    rest.push_back(machine.secondsOf(cost) -
                   target(std::min(double(cost.rows), most)));
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (size_t i = 0; i < unknowns.size(); ++i) {
      double product = 0, square = 0;
      for (size_t j = 0; j < rest.size(); ++j) {
        double own = rest[j];
        for (size_t other = 0; other < unknowns.size(); ++other)
          if (other != i)
            own -= factors[j][other] * *unknowns[other];
        product += own * factors[j][i];
        square += factors[j][i] * factors[j][i];
      }
      if (square > 0)
        *unknowns[i] = std::max(product / square, 0.0);
    }
}

Result<RoundCosts> RoundCosts::of(const MachineCosts &machine,
                                  const MeasuredDrafts &drafts) {
  RoundCosts costs;
  costs.drafts = drafts;
  std::map<double, std::vector<double>> plain;
  std::vector<Cost> rounds;
  for (const Cost &cost : machine.costs) {
    if (!cost.isPlainRound())
      continue;
    if (cost.k == 0)
      plain[double(cost.rows)].push_back(machine.secondsOf(cost));
    else
      rounds.push_back(cost);
    costs.slots = std::max(costs.slots, cost.batch);
  }
  if (plain.size() < 2 || rounds.empty())
    return failedPrecondition(strCat(
        "machines.costs: expected plain steps of at least two numbers of slots "
        "and rounds with drafts, got ",
        plain.size(), " and ", rounds.size(), " on '", machine.name,
        "'; measure with mtp-tune -b 1,2 or more"));
  // More rows never take less time: a smaller number is noise.
  double before = 0;
  for (const auto &[rows, seconds] : plain) {
    double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) /
                  double(seconds.size());
    before = costs.steps[rows] = std::max(before, mean);
  }
  costs.fit(rounds, machine);
  return costs;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

size_t TreeChoice::width() const {
  std::vector<size_t> counts = parentsByDepth(paths);
  return counts.empty() ? 0 : *std::ranges::max_element(counts);
}

std::map<uint32_t, double> profile::slotShares(const Load &load,
                                               uint32_t most) {
  std::map<uint32_t, double> shares;
  uint64_t all =
      std::accumulate(load.slots.begin(), load.slots.end(), uint64_t(0));
  for (size_t i = 0; i < load.slots.size(); ++i)
    if (load.slots[i] > 0)
      shares[uint32_t(std::min<uint64_t>(uint64_t(1) << i, most))] +=
          double(load.slots[i]) / double(all);
  if (shares.empty())
    shares[1] = 1;
  return shares;
}

TreeSearch::TreeSearch(NodeRates rates, RoundCosts costs, const Load &load)
    : rates(std::move(rates)), costs(std::move(costs)),
      shares(slotShares(load, this->costs.mostSlots())) {}

double TreeSearch::secondsOf(const std::vector<Path> &paths,
                             double slots) const {
  return costs.target(slots * double(paths.size() + 1)) +
         costs.drafting(paths, slots);
}

TreeChoice TreeSearch::evaluate(std::vector<Path> paths) const {
  TreeChoice choice;
  std::ranges::stable_sort(paths, {}, [](const Path &p) { return p.size(); });
  choice.paths = std::move(paths);
  for (const Path &path : choice.paths)
    choice.tokens += rates.pathRate(path);
  choice.seconds = secondsOf(choice.paths, 1);
  choice.gain = 0;
  for (const auto &[slots, share] : shares)
    choice.gain += share * choice.tokens * costs.target(slots) /
                   secondsOf(choice.paths, slots);
  return choice;
}

void TreeSearch::grow(const TreeLimits &limits, TreeChoice &best) const {
  std::vector<Path> paths;
  // Nodes that the tree can take next, by acceptance.
  std::multimap<double, Path, std::greater<>> next;
  auto offer = [&](Path path) {
    double rate = rates.pathRate(path);
    if (rate > 0)
      next.emplace(rate, std::move(path));
  };
  offer({0});
  size_t most = limits.exactNodes > 0 ? limits.exactNodes : limits.nodes;
  while (!next.empty() && paths.size() < most) {
    Path path = std::move(next.begin()->second);
    next.erase(next.begin());
    if (path.size() < limits.depth) {
      Path child = path;
      child.push_back(0);
      offer(std::move(child));
    }
    if (path.back() + 1u < std::min<uint32_t>(limits.ranks, UINT8_MAX)) {
      Path sibling = path;
      ++sibling.back();
      offer(std::move(sibling));
    }
    paths.push_back(std::move(path));
    if (limits.exactNodes > 0 && paths.size() < limits.exactNodes)
      continue;
    if (TreeChoice choice = evaluate(paths); choice.gain > best.gain)
      best = std::move(choice);
  }
}

TreeChoice TreeSearch::best(const TreeLimits &limits) const {
  TreeChoice best = evaluate({});
  if (limits.exactNodes > 0)
    best.gain = 0;
  TreeLimits shallow = limits;
  for (shallow.depth = 1; shallow.depth <= limits.depth; ++shallow.depth)
    grow(shallow, best);
  return best;
}

uint32_t TreeSearch::bestRows(const TreeLimits &limits, uint32_t slots) const {
  uint32_t most = 0;
  for (uint32_t count : costs.measuredRows()) {
    if (count > slots)
      break;
    TreeSearch alone = *this;
    alone.shares = {{count, 1.0}};
    auto nodes = uint32_t(alone.best(limits).paths.size());
    most = std::max(most, count * (nodes + 1));
  }
  return most;
}

void TreeSearch::addMeasured(const Profile &profile,
                             const MachineCosts &machine,
                             TreeReport &report) const {
  report.drafter = profile.model.drafter;
  for (const Cost &cost : machine.costs)
    if (cost.isPlainRound() && cost.k >= report.measuredK) {
      if (cost.k > report.measuredK)
        report.measuredNodes = 0;
      report.measuredK = cost.k;
      report.measuredNodes =
          std::max(report.measuredNodes, cost.rows / cost.batch - 1);
    }
  Outcomes outcomes = profile.allOutcomes();
  TreeChoice &measured = report.measured;
  double all = 1;
  for (size_t i = 0; i < outcomes.tried.size() && i < report.measuredK; ++i) {
    all *= double(outcomes.accepted[i]) /
           std::max<double>(double(outcomes.tried[i]), 1);
    measured.tokens += all;
  }
  auto seconds = [&](double slots) {
    return costs.target(slots * (report.measuredNodes + 1)) +
           costs.drafting(report.measuredK, slots);
  };
  measured.seconds = seconds(1);
  measured.gain = 0;
  for (const auto &[slots, share] : shares)
    measured.gain +=
        share * measured.tokens * costs.target(slots) / seconds(slots);
}

void profile::sortByRow(std::vector<Path> &paths) {
  std::ranges::sort(paths, [](const Path &a, const Path &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

DynamicSizes profile::dynamicSizes(const TreeChoice &choice) {
  DynamicSizes sizes;
  sizes.depth = std::max<int64_t>(int64_t(choice.depth()), 1);
  auto width = int64_t(choice.width());
  for (const Path &path : choice.paths)
    width = std::max<int64_t>(width, path.back() + 1);
  sizes.width = std::clamp(width, kLeastTreeWidth, kMostTreeWidth);
  int64_t most =
      1 + sizes.width + (sizes.depth - 1) * sizes.width * sizes.width;
  sizes.nodes =
      std::min(std::max(int64_t(choice.paths.size()), sizes.depth) + 1,
               std::min(most, kMostDynamicNodes));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

Result<TreeReport> profile::chooseTree(const Profile &profile,
                                       const MachineCosts &machine,
                                       const TreeLimits &limits, uint32_t slots,
                                       std::vector<Path> given) {
  MTP_ASSIGN_OR_RETURN(MeasuredDrafts drafts, MeasuredDrafts::of(profile));
  MTP_ASSIGN_OR_RETURN(NodeRates rates, NodeRates::of(profile));
  MTP_ASSIGN_OR_RETURN(RoundCosts costs, RoundCosts::of(machine, drafts));
  TreeReport report;
  report.ranks = rates.ranks();
  report.isBlock = drafts.isBlock();
  TreeSearch search(std::move(rates), std::move(costs), profile.load);
  search.addMeasured(profile, machine, report);
  TreeLimits chains = limits;
  chains.ranks = 1;
  report.chain = search.best(chains);
  std::vector<Path> paths;
  for (size_t k = 0; k <= limits.depth; ++k) {
    report.chains.push_back(search.evaluate(paths));
    paths.emplace_back(k + 1, 0);
  }
  report.tree = search.best(limits);
  report.rows = search.bestRows(limits, slots);
  if (given.empty())
    return report;
  report.given = search.evaluate(std::move(given));
  TreeLimits equal = limits;
  equal.exactNodes = report.given->paths.size();
  equal.depth = report.given->depth();
  if (TreeChoice found = search.best(equal); found.gain > 0)
    report.equal = found.gain > report.given->gain ? found : *report.given;
  return report;
}

static std::string choiceText(const TreeChoice &of) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "%.2f tokens, %.3f ms a round of one slot, %.2f of plain steps",
                of.tokens, of.seconds * 1e3, of.gain);
  return text;
}

static std::string shapeText(const TreeChoice &of) {
  return strCat(of.paths.size(), " nodes, depth ", of.depth());
}

static std::string ratioText(double of, double over) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", of / over);
  return text;
}

std::string profile::gainText(const TreeReport &report, const TreeChoice &of) {
  if (!(report.measured.gain > 0))
    return "";
  return strCat(ratioText(of.gain, report.measured.gain),
                " of the tokens per second of '", report.drafter,
                "' with k = ", report.measuredK);
}

std::string profile::treeVerdict(const TreeReport &report) {
  if (report.tree.paths.empty())
    return "no drafts pay: plain steps are the fastest";
  if (report.isBlock)
    return strCat("a block of ", report.chain.depth(),
                  " drafts, made in one pass, is the best");
  if (report.ranks == 1)
    return "trees are unknown: only drafts of rank 0 were measured; measure a "
           "dynamic tree";
  if (report.tree.isChain())
    return "no tree pays: a chain is the best";
  return strCat("a tree pays: ", ratioText(report.tree.gain, report.chain.gain),
                " of the best chain's tokens per second");
}

std::string profile::treeText(const TreeReport &report) {
  std::string text =
      strCat("measured: ", report.measuredNodes, " nodes, depth ",
             report.measuredK, ", ", choiceText(report.measured), "\nbest ",
             report.isBlock ? "block" : "chain", ": k = ", report.chain.depth(),
             ", ", choiceText(report.chain), "\n");
  if (!report.isBlock)
    text += strCat("best tree: ", shapeText(report.tree), ", ",
                   choiceText(report.tree), "\n");
  if (report.given)
    text += strCat("given tree: ", shapeText(*report.given), ", ",
                   choiceText(*report.given), "\n");
  if (report.equal)
    text += strCat("best tree of equal cost: ", shapeText(*report.equal), ", ",
                   choiceText(*report.equal), ", ",
                   ratioText(report.equal->gain, report.given->gain),
                   " of the given tree's tokens per second\n");
  if (report.rows > 0)
    text += strCat("more than ", report.rows,
                   " verified rows of all slots "
                   "together do not pay\n");
  return strCat(text, treeVerdict(report), "\n");
}

std::string profile::choicesText(const std::vector<Path> &paths) {
  std::string text;
  for (const Path &path : paths) {
    std::string ranks;
    for (uint8_t rank : path)
      ranks += strCat(ranks.empty() ? "" : ", ", unsigned(rank));
    text += strCat(text.empty() ? "[" : ", ", "[", ranks, "]");
  }
  return text.empty() ? "[]" : text + "]";
}
