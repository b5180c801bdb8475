//===- CheckProfile.cpp - Checks of a profile -----------------------------===//

#include "runtime/profile/CheckProfile.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/Tunables.h"
#include "runtime/schema/mtp_profile_generated.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace mtp;
using namespace mtp::profile;

namespace {
/// The name of a value in messages. Only a message puts its parts together: a
/// profile has thousands of values, and a session's start checks all of them.
/// The parts must outlive the key.
class Key {
public:
  Key(std::string_view name) : name(name) {}
  Key(const char *name) : name(name) {}
  /// Names the element `index` of a list, e.g. "outcomes[" for `list`.
  Key(std::string_view list, uint64_t index, std::string_view end = "]")
      : name(list), index(index), end(end) {}
  /// Names an element of a list of `of`, e.g. ".costs[" for `list`.
  Key(const Key &of, std::string_view list, uint64_t index)
      : of(&of), name(list), index(index), end("]") {}
  Key(std::string_view name, const NodeOutcomes::Path &path)
      : name(name), path(&path) {}
  friend Key operator+(const Key &of, std::string_view field) {
    Key key(field);
    key.of = &of;
    return key;
  }
  /// For strCat().
  friend void appendPart(std::string &out, const Key &key) {
    out += key.text();
  }

  std::string text() const;

private:
  const Key *of = nullptr;
  std::string_view name;
  std::optional<uint64_t> index;
  const NodeOutcomes::Path *path = nullptr;
  /// Follows the index.
  std::string_view end;
};
} // namespace

static std::string textOf(const NodeOutcomes::Path &path) {
  std::string text;
  for (uint8_t rank : path)
    text += strCat(text.empty() ? "" : ", ", uint32_t(rank));
  return "[" + text + "]";
}

std::string Key::text() const {
  std::string all = strCat(of ? of->text() : "", name);
  if (index)
    all += strCat(*index, end);
  return path ? all + textOf(*path) : all;
}

/// Returns the shortest text that reads back as the number.
template <typename T>
static std::string numberText(T number) {
  char text[32];
  return std::string(text,
                     std::to_chars(text, text + sizeof(text), number).ptr);
}

/// Fails unless least <= value <= most.
template <typename T>
static Status checkRange(const Key &key, T value, T least, T most) {
  if (value >= least && value <= most)
    return okStatus();
  return dataLoss(strCat(key, ": expected ", numberText(least), " to ",
                         numberText(most), ", got ", numberText(value)));
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

template <typename T>
static Status checkLength(const Key &key, const T *list, size_t most) {
  size_t length = list ? list->size() : 0;
  if (length <= most)
    return okStatus();
  return dataLoss(
      strCat(key, ": expected at most ", most, " entries, got ", length));
}

static Status checkLengths(const Key &key, const schema::ProfileOutcomes &of) {
  MTP_RETURN_IF_ERROR(checkLength(key + ".tried", of.tried(), kMostK));
  return checkLength(key + ".accepted", of.accepted(), kMostK);
}

static Status checkLengths(const Key &key,
                           const schema::ProfileMachine &machine) {
  MTP_RETURN_IF_ERROR(
      checkLength(key + ".name", machine.name(), kMostNameBytes));
  MTP_RETURN_IF_ERROR(checkLength(key + ".costs", machine.costs(), kMostCosts));
  MTP_RETURN_IF_ERROR(checkLength(key + ".alternatives", machine.alternatives(),
                                  kMostAlternatives));
  for (uint32_t j = 0;
       machine.alternatives() && j < machine.alternatives()->size(); ++j)
    MTP_RETURN_IF_ERROR(checkLength(Key(key, ".alternatives[", j) + ".tunable",
                                    machine.alternatives()->Get(j)->tunable(),
                                    kMostNameBytes));
  MTP_RETURN_IF_ERROR(
      checkLength(key + ".launches", machine.launches(), kMostLaunches));
  MTP_RETURN_IF_ERROR(checkLength(key + ".gemms", machine.gemms(), kMostGemms));
  for (uint32_t i = 0; machine.gemms() && i < machine.gemms()->size(); ++i) {
    const schema::ProfileGemm &gemm = *machine.gemms()->Get(i);
    Key own(key, ".gemms[", i);
    MTP_RETURN_IF_ERROR(
        checkLength(own + ".chip", gemm.chip(), kMostNameBytes));
    MTP_RETURN_IF_ERROR(
        checkLength(own + ".words", gemm.words(), kMostGemmWords));
  }
  return okStatus();
}

/// Checks the lists of kinds, nodes, confidences and tokens.
static Status checkAcceptanceLengths(const schema::Profile &root) {
  MTP_RETURN_IF_ERROR(checkLength("nodes", root.nodes(), kMostTreeNodes));
  for (uint32_t i = 0; root.nodes() && i < root.nodes()->size(); ++i)
    MTP_RETURN_IF_ERROR(checkLength(Key("nodes[", i) + ".path",
                                    root.nodes()->Get(i)->path(), kMostK));
  MTP_RETURN_IF_ERROR(checkLength("kinds", root.kinds(), kMostKinds));
  for (uint32_t i = 0; root.kinds() && i < root.kinds()->size(); ++i) {
    const schema::ProfileKind &kind = *root.kinds()->Get(i);
    Key key("kinds[", i);
    MTP_RETURN_IF_ERROR(
        checkLength(key + ".name", kind.name(), kMostKindBytes));
    MTP_RETURN_IF_ERROR(checkLength(key + ".tried", kind.tried(), kMostK));
    MTP_RETURN_IF_ERROR(
        checkLength(key + ".accepted", kind.accepted(), kMostK));
  }
  MTP_RETURN_IF_ERROR(checkLength("confidence_tried", root.confidence_tried(),
                                  kConfidenceBuckets));
  MTP_RETURN_IF_ERROR(checkLength(
      "confidence_accepted", root.confidence_accepted(), kConfidenceBuckets));
  return checkLength("tokens", root.tokens(), kMostCountedTokens);
}

Status profile::checkCounts(const schema::Profile &root) {
  MTP_RETURN_IF_ERROR(checkAcceptanceLengths(root));
  MTP_RETURN_IF_ERROR(
      checkLength("model.name", root.model()->name(), kMostNameBytes));
  MTP_RETURN_IF_ERROR(
      checkLength("model.drafter", root.model()->drafter(), kMostNameBytes));
  if (root.check())
    MTP_RETURN_IF_ERROR(checkLengths("check", *root.check()));
  MTP_RETURN_IF_ERROR(checkLength("outcomes", root.outcomes(), kMostOutcomes));
  for (uint32_t i = 0; root.outcomes() && i < root.outcomes()->size(); ++i)
    MTP_RETURN_IF_ERROR(
        checkLengths(Key("outcomes[", i), *root.outcomes()->Get(i)));
  MTP_RETURN_IF_ERROR(checkLength("machines", root.machines(), kMostMachines));
  for (uint32_t i = 0; root.machines() && i < root.machines()->size(); ++i) {
    const schema::ProfileMachine &machine = *root.machines()->Get(i);
    Key key("machines[", i);
    MTP_RETURN_IF_ERROR(checkLengths(key, machine));
  }
  const schema::ProfileLoad *load = root.load();
  if (!load)
    return okStatus();
  MTP_RETURN_IF_ERROR(checkLength("load.slots", load->slots(), kMostBuckets));
  MTP_RETURN_IF_ERROR(
      checkLength("load.contexts", load->contexts(), kMostBuckets));
  MTP_RETURN_IF_ERROR(
      checkLength("load.rounds", load->rounds(), kMostRoundShapes));
  MTP_RETURN_IF_ERROR(
      checkLength("load.outputs", load->outputs(), kMostBuckets));
  return checkLength("load.prompts", load->prompts(), kMostBuckets);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Copies an element of a list, which may lie at any address.
template <typename T>
static T elementOf(const flatbuffers::Vector<const T *> &list, uint32_t i) {
  T element;
  std::memcpy(&element, list.Data() + i * sizeof(T), sizeof(T));
  return element;
}

/// Checks that the tokens ascend: each one is there at most once.
static Status checkTokenOrder(const schema::Profile &root) {
  for (uint32_t i = 1; root.tokens() && i < root.tokens()->size(); ++i) {
    uint32_t before = elementOf(*root.tokens(), i - 1).token();
    uint32_t token = elementOf(*root.tokens(), i).token();
    if (token <= before)
      return dataLoss(strCat("tokens[", i, "].token: expected more than ",
                             before, ", the token before it, got ", token));
  }
  return okStatus();
}

/// Checks that the slots and k of rounds ascend.
static Status checkRoundOrder(const schema::ProfileLoad &load) {
  for (uint32_t i = 1; load.rounds() && i < load.rounds()->size(); ++i) {
    schema::ProfileRounds before = elementOf(*load.rounds(), i - 1);
    schema::ProfileRounds one = elementOf(*load.rounds(), i);
    if (std::pair(one.slots(), one.k()) <=
        std::pair(before.slots(), before.k()))
      return dataLoss(strCat("load.rounds[", i, "].slots: expected more than ",
                             before.slots(), " slots with k = ", before.k(),
                             ", the round before it, got ", one.slots(),
                             " with k = ", one.k()));
  }
  return okStatus();
}

static NodeOutcomes::Path pathOf(const schema::ProfileNode &node) {
  NodeOutcomes::Path path;
  if (node.path())
    path.assign(node.path()->begin(), node.path()->end());
  return path;
}

/// Checks that the paths of nodes ascend.
static Status checkNodeOrder(const schema::Profile &root) {
  for (uint32_t i = 1; root.nodes() && i < root.nodes()->size(); ++i) {
    NodeOutcomes::Path before = pathOf(*root.nodes()->Get(i - 1));
    NodeOutcomes::Path path = pathOf(*root.nodes()->Get(i));
    if (path <= before)
      return dataLoss(strCat("nodes[", i, "].path: expected a path after ",
                             textOf(before), ", the path before it, got ",
                             textOf(path)));
  }
  return okStatus();
}

Status profile::checkOrder(const schema::Profile &root) {
  MTP_RETURN_IF_ERROR(checkNodeOrder(root));
  MTP_RETURN_IF_ERROR(checkTokenOrder(root));
  return root.load() ? checkRoundOrder(*root.load()) : okStatus();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Status checkOutcomes(const Key &key, const Outcomes &of) {
  MTP_RETURN_IF_ERROR(
      checkRange<uint64_t>(key + ".context", of.context, 0, kMostBuckets - 1));
  if (of.tried.size() != of.accepted.size())
    return dataLoss(strCat(key, ".accepted: expected ", of.tried.size(),
                           " entries as in ", key, ".tried, got ",
                           of.accepted.size()));
  uint64_t reached = kMostCount;
  for (size_t j = 0; j < of.tried.size(); ++j) {
    // A draft is tried only if the draft before it was accepted.
    MTP_RETURN_IF_ERROR(
        checkRange<uint64_t>(Key(key, ".tried[", j), of.tried[j], 0, reached));
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(Key(key, ".accepted[", j),
                                             of.accepted[j], 0, of.tried[j]));
    reached = of.accepted[j];
  }
  return okStatus();
}

/// Checks that siblings were not accepted more often than one of them was
/// tried: a round accepts at most one of them.
static Status checkSiblings(const NodeOutcomes &of) {
  std::map<NodeOutcomes::Path, DraftCount> sums;
  for (const auto &[path, count] : of.counts) {
    DraftCount &sum = sums[{path.begin(), path.end() - 1}];
    sum.tried = std::max(sum.tried, count.tried);
    sum.accepted += count.accepted;
  }
  for (const auto &[path, sum] : sums)
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(
        Key("accepted children of nodes", path), sum.accepted, 0, sum.tried));
  return okStatus();
}

static Status checkNodes(const NodeOutcomes &of) {
  for (const auto &[path, count] : of.counts) {
    Key key("nodes", path);
    if (path.empty())
      return dataLoss("nodes.path: expected at least one rank, got none");
    MTP_RETURN_IF_ERROR(
        checkRange<uint32_t>(key + ".path", path.back(), 0, kMostNodes - 1));
    // A node is tried only if its parent was accepted.
    uint64_t reached = kMostCount;
    if (path.size() > 1) {
      auto parent = of.counts.find({path.begin(), path.end() - 1});
      if (parent == of.counts.end())
        return dataLoss(key.text() + ".path: expected a node whose parent "
                                     "is in the profile");
      reached = parent->second.accepted;
    }
    MTP_RETURN_IF_ERROR(
        checkRange<uint64_t>(key + ".tried", count.tried, 0, reached));
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + ".accepted", count.accepted,
                                             0, count.tried));
  }
  return checkSiblings(of);
}

static Status checkKinds(const std::vector<KindOutcomes> &kinds) {
  std::set<std::string> names;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Key key("kinds[", i);
    MTP_RETURN_IF_ERROR(checkOutcomes(key, kinds[i].outcomes));
    if (!isKindName(kinds[i].name))
      return dataLoss(strCat(key,
                             ".name: expected letters, digits, '-' and "
                             "'_', got '",
                             kinds[i].name, "'"));
    if (!names.insert(kinds[i].name).second)
      return dataLoss(strCat(key, ".name: expected each kind once, got '",
                             kinds[i].name, "' again"));
  }
  return okStatus();
}

static Status checkConfidence(const ConfidenceOutcomes &of) {
  for (size_t i = 0; i < kConfidenceBuckets; ++i) {
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(Key("confidence_tried[", i),
                                             of.tried[i], 0, kMostCount));
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(Key("confidence_accepted[", i),
                                             of.accepted[i], 0, of.tried[i]));
  }
  return okStatus();
}

static Status checkTokens(const TokenCounts &of) {
  for (const auto &[token, count] : of.counts) {
    Key key("tokens[token ", token);
    MTP_RETURN_IF_ERROR(
        checkRange<uint32_t>(key + ".token", token, 0, kMostTokens - 1));
    for (auto [name, number] : {std::pair(".output", count.output),
                                std::pair(".drafted", count.drafted),
                                std::pair(".accepted", count.accepted)})
      if (number > 0)
        MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + name, number,
                                                 kLeastTokenCount, kMostCount));
    MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + ".accepted", count.accepted,
                                             0, count.drafted));
  }
  return okStatus();
}

static Status checkHead(const DraftHead &of) {
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>("head_vocab", of.vocab, 0, kMostTokens));
  return checkRange<double>("head_share", of.share, 0, 1);
}

static Status checkSeconds(const Key &key, double value,
                           double least = kLeastSeconds) {
  return checkRange<double>(key, value, least, kMostSeconds);
}

static Status checkCost(const Key &key, const Cost &of) {
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".work", uint32_t(of.work), 0,
                                           uint32_t(Work::Prefill)));
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".batch", of.batch, 1, kMostSlots));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".k", of.k, 0, kMostK));
  // Each slot has a row at least. Passes over prompts have chunks of rows.
  bool isRound = of.work == Work::Round;
  uint32_t most = isRound ? of.batch * kMostNodes : kMostSlots * kMostChunk;
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".rows", of.rows,
                                           isRound ? of.batch : 1, most));
  MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + ".positions", of.positions, 0,
                                           uint64_t(of.batch) * kMostContext));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".lower", of.lower));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".median", of.median, of.lower));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".upper", of.upper, of.median));
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".nodes", of.nodes, 0, kMostCostNodes));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(
      key + ".padding", of.padding, 0, isRound ? kMostSlots - of.batch : 0));
  return checkRange<uint64_t>(key + ".count", of.count, 1, kMostCount);
}

static Status checkLaunch(const Key &key, const LaunchCost &of) {
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".batch", of.batch, 1, kMostSlots));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".k", of.k, 0, kMostK));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".rounds", of.rounds, 1,
                                           uint32_t(kRingRounds)));
  MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + ".positions", of.positions, 0,
                                           uint64_t(of.batch) * kMostContext));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".lower", of.lower));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".median", of.median, of.lower));
  MTP_RETURN_IF_ERROR(checkSeconds(key + ".upper", of.upper, of.median));
  return checkRange<uint64_t>(key + ".count", of.count, 1, kMostCount);
}

/// Checks the launches of a GPU, which a processor does not have.
static Status checkLaunches(const Key &key, const MachineCosts &of) {
  if (of.threads > 0 && !of.launches.empty())
    return dataLoss(strCat(key, ": expected none of a processor with ",
                           of.threads, " threads, got ", of.launches.size()));
  using Shape = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  std::map<Shape, size_t> seen;
  for (size_t i = 0; i < of.launches.size(); ++i) {
    const LaunchCost &one = of.launches[i];
    Key own(key, "[", i);
    MTP_RETURN_IF_ERROR(checkLaunch(own, one));
    auto [same, isNew] =
        seen.insert({{one.program, one.batch, one.k, one.rounds,
                      bucketOf(one.positions / one.batch)},
                     i});
    if (!isNew)
      return dataLoss(strCat(own,
                             ": expected one cost of each shape, got the "
                             "shape of ",
                             key, "[", same->second, "] again"));
  }
  return okStatus();
}

static Status checkAlternative(const Key &key, const Alternative &of) {
  const auto *tunable =
      std::ranges::find_if(kTunables, [&](const Tunable &one) {
        return one.name == of.tunable && one.isTuned();
      });
  if (tunable == kTunables.end())
    return dataLoss(strCat(key,
                           ".tunable: expected the name of a tunable, got '",
                           of.tunable, "'"));
  if (of.value < tunable->least || of.value > tunable->most ||
      of.value == tunable->value)
    return dataLoss(strCat(key, ".value: expected ", tunable->least, " to ",
                           tunable->most, " for ", tunable->name,
                           ", and not the default ", tunable->value, ", got ",
                           of.value));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".work", uint32_t(of.work), 0,
                                           uint32_t(Work::Prefill)));
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".batch", of.batch, 1, kMostSlots));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".k", of.k, 0, kMostK));
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".rows", of.rows, 1, kMostContext));
  MTP_RETURN_IF_ERROR(checkRange<uint64_t>(key + ".positions", of.positions, 0,
                                           uint64_t(of.batch) * kMostContext));
  MTP_RETURN_IF_ERROR(
      checkRange<double>(key + ".ratio", of.ratio, 1 / kMostRatio, kMostRatio));
  MTP_RETURN_IF_ERROR(
      checkRange<double>(key + ".error", of.error, 0, kMostRatio));
  return checkRange<uint64_t>(key + ".pairs", of.pairs, 2, kMostCount);
}

static Status checkAlternatives(const Key &key,
                                const std::vector<Alternative> &alternatives) {
  for (size_t i = 0; i < alternatives.size(); ++i) {
    Key own(key, "[", i);
    MTP_RETURN_IF_ERROR(checkAlternative(own, alternatives[i]));
    for (size_t j = 0; j < i; ++j)
      if (alternatives[j].isOfShape(alternatives[i]))
        return dataLoss(strCat(own,
                               ": expected one cost of each value and "
                               "shape, got those of ",
                               key, "[", j, "] again"));
  }
  return okStatus();
}

static Status checkGemms(const Key &key, const std::vector<GemmChoice> &gemms) {
  for (size_t i = 0; i < gemms.size(); ++i) {
    Key own(key, "[", i);
    MTP_RETURN_IF_ERROR(
        checkRange<uint32_t>(own + ".rows", gemms[i].rows, 1, kMostChunk));
    for (size_t j = 0; j < i; ++j)
      if (gemms[j].isOfProduct(gemms[i]))
        return dataLoss(strCat(own,
                               ": expected one algorithm of each product, got "
                               "the product of ",
                               key, "[", j, "] again"));
  }
  return okStatus();
}

/// Checks the settings of a GPU, which a processor does not have.
static Status checkGpu(const Key &key, const MachineCosts &of) {
  auto check = [&](const char *name, uint32_t value, uint32_t most) {
    return checkRange<uint32_t>(key + name, value, 0, of.threads ? 0 : most);
  };
  MTP_RETURN_IF_ERROR(check(".driver", of.gpu.driver, kMostDriver));
  MTP_RETURN_IF_ERROR(check(".clock", of.gpu.clock, kMostClock));
  return check(".memory_clock", of.gpu.memoryClock, kMostClock);
}

static Status checkMachine(const Key &key, const MachineCosts &of) {
  if (of.name.empty())
    return dataLoss(strCat(key, ".name: expected a name, got none"));
  MTP_RETURN_IF_ERROR(
      checkRange<uint32_t>(key + ".threads", of.threads, 0, kMostWorkers));
  MTP_RETURN_IF_ERROR(checkRange<uint32_t>(key + ".day", of.day, 0, kMostDay));
  MTP_RETURN_IF_ERROR(checkGpu(key, of));
  using Shape = std::tuple<Work, uint64_t, uint32_t, uint32_t, uint32_t,
                           uint32_t, uint32_t>;
  std::map<Shape, size_t> seen;
  for (size_t i = 0; i < of.costs.size(); ++i) {
    const Cost &cost = of.costs[i];
    Key costKey(key, ".costs[", i);
    MTP_RETURN_IF_ERROR(checkCost(costKey, cost));
    auto [same, isNew] =
        seen.insert({{cost.work, cost.program, cost.batch, cost.k, cost.rows,
                      cost.padding, bucketOf(cost.positions / cost.batch)},
                     i});
    if (!isNew)
      return dataLoss(strCat(costKey,
                             ": expected one cost of each shape, got the "
                             "shape of ",
                             key, ".costs[", same->second, "] again"));
  }
  MTP_RETURN_IF_ERROR(checkLaunches(key + ".launches", of));
  MTP_RETURN_IF_ERROR(
      checkAlternatives(key + ".alternatives", of.alternatives));
  return checkGemms(key + ".gemms", of.gemms);
}

static Status checkHistogram(const Key &key,
                             const std::vector<uint64_t> &counts) {
  for (size_t i = 0; i < counts.size(); ++i)
    MTP_RETURN_IF_ERROR(
        checkRange<uint64_t>(Key(key, "[", i), counts[i], 0, kMostCount));
  return okStatus();
}

static Status checkRounds(const Load &load) {
  for (const auto &[shape, count] : load.rounds) {
    Key slots("load.rounds[slots ", shape.first, /*end=*/"");
    Key key(slots, ", k ", shape.second);
    MTP_RETURN_IF_ERROR(
        checkRange<uint32_t>(key + ".slots", shape.first, 1, kMostSlots));
    MTP_RETURN_IF_ERROR(
        checkRange<uint32_t>(key + ".k", shape.second, 0, kMostK));
    MTP_RETURN_IF_ERROR(
        checkRange<uint64_t>(key + ".count", count, 1, kMostCount));
  }
  return okStatus();
}

Status profile::checkProfile(const Profile &profile) {
  MTP_RETURN_IF_ERROR(checkOutcomes("check", profile.check));
  std::set<std::pair<bool, uint32_t>> kinds;
  for (size_t i = 0; i < profile.outcomes.size(); ++i) {
    const Outcomes &of = profile.outcomes[i];
    MTP_RETURN_IF_ERROR(checkOutcomes(Key("outcomes[", i), of));
    if (!kinds.insert({of.isSampled, of.context}).second)
      return dataLoss(strCat("outcomes[", i, "].context: expected each kind ",
                             "once, got ", of.context, " again"));
  }
  MTP_RETURN_IF_ERROR(checkNodes(profile.nodes));
  MTP_RETURN_IF_ERROR(checkKinds(profile.kinds));
  MTP_RETURN_IF_ERROR(checkConfidence(profile.confidence));
  MTP_RETURN_IF_ERROR(checkTokens(profile.tokens));
  MTP_RETURN_IF_ERROR(checkHead(profile.head));
  for (size_t i = 0; i < profile.machines.size(); ++i) {
    const MachineCosts &of = profile.machines[i];
    MTP_RETURN_IF_ERROR(checkMachine(Key("machines[", i), of));
    for (size_t j = 0; j < i; ++j)
      if (of.isOfMachine(profile.machines[j]))
        return dataLoss(strCat(
            "machines[", i, "].name: expected each machine once, got '",
            of.name, "' with ",
            of.gpu.isUnknown() ? strCat(of.threads, " threads") : of.gpu.text(),
            " again"));
  }
  MTP_RETURN_IF_ERROR(checkRounds(profile.load));
  MTP_RETURN_IF_ERROR(checkHistogram("load.slots", profile.load.slots));
  MTP_RETURN_IF_ERROR(checkHistogram("load.outputs", profile.load.outputs));
  MTP_RETURN_IF_ERROR(checkHistogram("load.contexts", profile.load.contexts));
  return checkHistogram("load.prompts", profile.load.prompts);
}
