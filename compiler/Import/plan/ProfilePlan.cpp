//===- ProfilePlan.cpp - What a profile decides about drafts --------------===//

#include "compiler/Import/plan/ProfilePlan.h"
#include "compiler/Import/plan/AcceptSpec.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "runtime/profile/RowLimit.h"
#include "runtime/profile/ThresholdChoice.h"
#include "runtime/profile/TreeChoice.h"
#include "runtime/schema/Limits.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr std::string_view kDynamic = "dynamic";

Result<const profile::MachineCosts *>
machineOf(const profile::Profile &measured) {
  if (measured.machines.empty())
    return failedPrecondition(
        "machines: expected the costs of a machine, got none");
  std::string here = profile::processorName();
  for (const profile::MachineCosts &machine : measured.machines)
    if (machine.name == here)
      return &machine;
  return &measured.machines.front();
}

/// Returns the ranks of each node of a static tree but the anchor.
std::vector<profile::Path> pathsOf(const DraftTree &tree) {
  std::vector<profile::Path> paths(1);
  std::vector<uint8_t> children(tree.parents.size());
  for (size_t node = 1; node < tree.parents.size(); ++node) {
    auto parent = size_t(tree.parents[node]);
    profile::Path path = paths[parent];
    path.push_back(children[parent]++);
    paths.push_back(std::move(path));
  }
  paths.erase(paths.begin());
  return paths;
}

static_assert(profile::kLeastTreeWidth == kLeastWidth &&
              profile::kMostTreeWidth == kMostWidth &&
              profile::kMostDynamicNodes == kMostNodes);

/// Returns a dynamic tree with sizes of a static one.
DraftTree dynamicOf(const profile::TreeChoice &choice) {
  profile::DynamicSizes sizes = profile::dynamicSizes(choice);
  DraftTree tree;
  tree.kind = DraftTreeKind::Dynamic;
  tree.depth = sizes.depth;
  tree.width = sizes.width;
  tree.nodes = sizes.nodes;
  return tree;
}

/// Applies a report to what the flags leave open.
Status apply(const profile::TreeReport &report, const ProfileRequest &request,
             ProfileDecision &decision) {
  const profile::TreeChoice *choice = &report.chain;
  if (request.tree == kDynamic) {
    choice = &report.tree;
    decision.tree = dynamicOf(*choice);
  } else if (request.tree.empty() && !report.tree.isChain()) {
    choice = &report.tree;
    MTP_ASSIGN_OR_RETURN(decision.tree,
                         parseChoices(profile::choicesText(choice->paths)));
  }
  // A tree is as deep as -k, which only limits it here.
  bool isChain = decision.tree.kind == DraftTreeKind::Chain;
  if (choice == &report.tree)
    decision.maxK = std::max<int64_t>(decision.tree.depth, 1);
  else if (!request.maxK && isChain)
    // A program drafts at least once.
    decision.maxK = std::max<int64_t>(int64_t(choice->depth()), 1);
  if (report.given)
    choice = &*report.given;
  else if (isChain && decision.maxK &&
           size_t(*decision.maxK) < report.chains.size())
    choice = &report.chains[size_t(*decision.maxK)];
  // The speed of a dynamic tree with given sizes is not known.
  bool isKnown = isChain || report.given || choice == &report.tree;
  std::string gain = isKnown ? profile::gainText(report, *choice) : "";
  decision.text +=
      strCat("chosen: ", describeTree(decision.tree),
             decision.maxK ? strCat(", -k ", *decision.maxK) : std::string(),
             gain.empty() ? "" : ": ", gain, "\n");
  return okStatus();
}

/// Returns the nodes of a decision in the order in which a limit on rows keeps
/// them. A dynamic tree with sizes of the profile has the nodes of the best
/// static tree, the likeliest first.
Result<std::vector<profile::Path>> nodesOf(const profile::Profile &measured,
                                           const profile::TreeReport &report,
                                           const ProfileRequest &request,
                                           const ProfileDecision &decision) {
  if (decision.tree.kind == DraftTreeKind::Static)
    return pathsOf(decision.tree);
  std::vector<profile::Path> nodes;
  if (decision.tree.kind == DraftTreeKind::Chain) {
    // A larger -k is an error later.
    int64_t most = std::min(decision.maxK.value_or(0), kMostDepth);
    for (int64_t k = 1; k <= most; ++k)
      nodes.emplace_back(size_t(k), 0);
    return nodes;
  }
  if (request.tree != kDynamic)
    return invalidArgument(
        "--max-verify-tokens: expected a number with --draft-tree=" +
        request.tree + ", whose nodes are unknown, got profile");
  MTP_ASSIGN_OR_RETURN(profile::NodeRates rates,
                       profile::NodeRates::of(measured));
  nodes = report.tree.paths;
  std::ranges::stable_sort(
      nodes, std::greater(),
      [&](const profile::Path &path) { return rates.pathRate(path); });
  return nodes;
}

/// Decides about the limit on rows after the drafts.
Status limitRows(const profile::Profile &measured,
                 const profile::MachineCosts &machine,
                 const profile::TreeReport &report,
                 const ProfileRequest &request, ProfileDecision &decision) {
  MTP_ASSIGN_OR_RETURN(std::vector<profile::Path> nodes,
                       nodesOf(measured, report, request, decision));
  MTP_ASSIGN_OR_RETURN(
      profile::RowLimit limit,
      profile::chooseRowLimit(
          measured, machine, nodes,
          uint32_t(std::clamp<int64_t>(request.maxBatch, 1, kMostSlots))));
  decision.maxRows = limit.rows;
  decision.text += profile::rowLimitText(limit);
  return okStatus();
}

/// Chooses the confidence at which chains end, and with it the number of drafts
/// if the flags leave it open.
Status chooseConfidence(const profile::Profile &measured,
                        const profile::MachineCosts &machine,
                        const ProfileRequest &request,
                        ProfileDecision &decision) {
  profile::ThresholdLimits limits;
  limits.mostK = uint32_t(kMostDepth);
  if (request.maxK)
    limits.leastK = limits.mostK =
        uint32_t(std::clamp<int64_t>(*request.maxK, 1, kMostDepth));
  Result<profile::ThresholdReport> report =
      profile::chooseThreshold(measured, machine, limits);
  if (!report)
    return report.status();
  decision.text += profile::thresholdText(*report);
  if (!report->pays()) {
    decision.text +=
        "chosen: no --confidence; measure the new artifact again\n";
    return okStatus();
  }
  decision.confidence = report->best.least;
  decision.text +=
      strCat("chosen: --confidence ", shortest(report->best.least));
  int64_t before = decision.maxK.value_or(0), k = report->best.k;
  // Flags win.
  if (!request.maxK && before != k) {
    decision.maxK = k;
    decision.text += strCat(", -k ", k, " in place of ", before);
  }
  decision.text += "\n";
  return okStatus();
}

} // namespace

Result<ProfileDecision> decideByProfile(const std::string &path,
                                        const ProfileRequest &request) {
  MTP_ASSIGN_OR_RETURN(profile::Profile measured, profile::loadProfile(path));
  ProfileDecision decision;
  decision.maxK = request.maxK;
  if (!request.tree.empty() && request.tree != kDynamic) {
    // Braces, because the macro expands to several statements.
    MTP_ASSIGN_OR_RETURN(decision.tree, parseDraftTree(request.tree));
  }
  Result<const profile::MachineCosts *> machine = machineOf(measured);
  if (!machine)
    return machine.status().withContext(path);
  profile::TreeLimits limits{size_t(kMostNodes) - 1, size_t(kMostDepth)};
  if (request.maxK)
    limits.depth = size_t(std::clamp<int64_t>(*request.maxK, 1, kMostDepth));
  if (request.tree == "chain")
    limits.ranks = 1;
  Result<profile::TreeReport> report = profile::chooseTree(
      measured, **machine, limits,
      uint32_t(std::max<int64_t>(request.maxBatch, 1)), pathsOf(decision.tree));
  if (!report)
    return report.status().withContext(path);
  decision.text = strCat("profile of '", measured.model.name, "', drafter '",
                         measured.model.drafter, "', on '", (*machine)->name,
                         "'\n", profile::treeText(*report));
  MTP_RETURN_IF_ERROR(apply(*report, request, decision));
  if (request.choosesConfidence)
    if (Status chosen =
            chooseConfidence(measured, **machine, request, decision);
        !chosen.isOk())
      return chosen.withContext(strCat("--confidence: ", path));
  if (request.limitsRows)
    MTP_RETURN_IF_ERROR(
        limitRows(measured, **machine, *report, request, decision));
  decision.model.choosesK = decision.maxK && !request.maxK;
  decision.model.drafter = measured.model.drafter;
  if (!measured.tokens.counts.empty())
    decision.model.leastVocab =
        int64_t(measured.tokens.counts.rbegin()->first) + 1;
  return decision;
}

/// Returns the name of a drafter without the arrangement of its drafts, and
/// without the confidence at which they end.
static std::string withoutTree(std::string name) {
  for (std::string_view part :
       {":chain", ":tree:", ":dynamic:", ":confidence:", ":confidence"})
    if (size_t at = name.find(part); at != std::string::npos)
      name.erase(at, name.find(':', at + part.size()) - at);
  return name;
}

static Status wrongDrafter(const ProfiledModel &profiled,
                           const std::string &expected) {
  return failedPrecondition(strCat("--profile: model.drafter: expected '",
                                   withoutTree(expected), "', got '",
                                   profiled.drafter, "'"));
}

Status checkProfiledMethod(const ProfiledModel &profiled,
                           const std::string &method) {
  constexpr std::string_view kBefore = " before ", kReuse = ":reuse";
  std::string name = withoutTree(profiled.drafter);
  if (size_t at = name.find(kBefore); at != std::string::npos)
    name.erase(0, at + kBefore.size());
  if (name.ends_with(kReuse))
    name.resize(name.size() - kReuse.size());
  return name == withoutTree(method) ? okStatus()
                                     : wrongDrafter(profiled, method);
}

Status checkProfiled(const ProfiledModel &profiled, const std::string &drafter,
                     int64_t vocab) {
  if (withoutTree(profiled.drafter) != withoutTree(drafter))
    return wrongDrafter(profiled, drafter);
  if (profiled.leastVocab > vocab)
    return failedPrecondition(
        strCat("--profile: tokens: expected tokens below ", vocab,
               ", the model's vocabulary, got ", profiled.leastVocab - 1));
  return okStatus();
}

} // namespace mtp::importer
