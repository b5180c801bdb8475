//===- DraftPlan.cpp - The plan of a model's drafts -----------------------===//

#include "compiler/Import/plan/DraftPlan.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kDefaultK = 3;
/// The default of --catch-up-rows (runtime/exec/DESIGN.md).
constexpr int64_t kDefaultCatchUpRows = 64;

/// Returns the number of the model's modules that draft.
int64_t planModules(const ModelConfig &config, const ImportOptions &options,
                    int64_t maxK) {
  if (options.drafter.kind != DrafterKind::Modules)
    return 0;
  int64_t modules = config.drafter.modules;
  if (options.depthPolicy == DepthPolicy::Reuse)
    modules = std::min<int64_t>(modules, 1);
  return std::min(modules, maxK);
}

/// Returns true if something drafts.
bool hasDrafter(const ModelConfig &config, const ImportOptions &options) {
  return options.drafter.kind != DrafterKind::Modules ||
         config.drafter.modules > 0;
}

/// Checks --before. The drafter must not be a lookup or lookahead itself.
Status checkBefore(const ModelConfig &config, const ImportOptions &options) {
  if (!options.before)
    return okStatus();
  if (!hasDrafter(config, options))
    return invalidArgument("--before: expected --drafter for a model without "
                           "MTP modules, got none");
  DrafterKind kind = options.drafter.kind;
  if (kind == DrafterKind::Lookup || kind == DrafterKind::Lookahead)
    return invalidArgument("--before: expected a drafter other than a lookup "
                           "or lookahead, got '" +
                           methodName(options.drafter) + "'");
  return okStatus();
}

/// Returns the number of drafts by -k or a profile; `usual` without both. A
/// profile chooses at most `most`, and a note tells about it.
int64_t chosenDrafts(const ImportOptions &options, int64_t usual,
                     int64_t most) {
  int64_t k = options.maxK.value_or(usual);
  if (!options.profiled || !options.profiled->choosesK || k <= most)
    return k;
  if (options.onNote)
    options.onNote("-k " + std::to_string(most) +
                   ", the most drafts of this drafter, in place of the " +
                   std::to_string(k) + " that the profile chooses");
  return most;
}

/// Returns the number of drafts of a block drafter: all of the block's unless
/// flags or a profile ask for fewer.
Result<int64_t> planBlockDrafts(const DrafterFolder &folder,
                                const ImportOptions &options) {
  int64_t most = std::min(folder.block.drafts, kMostDepth);
  int64_t usual = folder.proposed > 0 ? std::min(folder.proposed, most) : most;
  int64_t k = chosenDrafts(options, usual, most);
  if (k < 1 || k > most)
    return outOfRange("-k: expected 1 to the " + std::to_string(most) +
                      " drafts of a block, got " + std::to_string(k));
  return k;
}

/// Returns true if drafts come step by step, each from the preceding one.
bool draftsStepByStep(const ModelConfig &config, const DrafterFolder *folder,
                      const ImportOptions &options) {
  if (!folder)
    return options.drafter.kind == DrafterKind::Modules &&
           config.drafter.modules > 0;
  return folder->method == FolderMethod::Eagle ||
         folder->method == FolderMethod::Eagle3 ||
         folder->method == FolderMethod::Model;
}

/// Checks --confidence. It applies to a drafter's confidence head, or to the
/// drafter's own probabilities in a chain.
Status checkConfidence(const ModelConfig &config, const DrafterFolder *folder,
                       const ImportOptions &options) {
  if (!options.confidence || (folder && folder->block.hasConfidence))
    return okStatus();
  auto refuse = [](const std::string &expected, const std::string &got) {
    return invalidArgument("--confidence: expected " + expected + ", got " +
                           got);
  };
  if (!draftsStepByStep(config, folder, options)) {
    std::string got = "none";
    if (folder)
      got = "one of the method " + std::string(toString(folder->method)) +
            " without either";
    else if (options.drafter.kind != DrafterKind::Modules)
      got = "'" + methodName(options.drafter) + "'";
    return refuse("a drafter with a confidence head, or one that drafts a "
                  "chain step by step",
                  got);
  }
  if (options.tree.kind != DraftTreeKind::Chain)
    return refuse("--draft-tree=chain", describeTree(options.tree));
  // With other rules it would bias sampling, because the token of a draft would
  // decide whether the draft is verified.
  if (!options.accept.isExact())
    return refuse("--accept=exact with a chain", ruleName(options.accept));
  return okStatus();
}

Result<int64_t> planChainDrafts(const DrafterFolder &folder,
                                const ImportOptions &options) {
  int64_t heads = folder.heads(), depths = folder.parallel.depths;
  int64_t most = heads > 0 ? heads : kMostDepth;
  int64_t fits = depths > 0 ? std::min(most, depths) : most;
  int64_t usual = heads > 0 ? most : std::min(kDefaultK, fits);
  if (folder.proposed > 0)
    usual = std::min(folder.proposed, fits);
  int64_t k = chosenDrafts(options, usual, fits);
  if (k < 1)
    return invalidArgument("-k: expected at least 1 with --drafter, got " +
                           std::to_string(k));
  if (depths > 0 && k > depths)
    return outOfRange("-k: expected at most the " + std::to_string(depths) +
                      " places that the drafter was trained for, got " +
                      std::to_string(k));
  if (k > most)
    return outOfRange("-k: expected at most " +
                      (heads > 0
                           ? "the drafter's " + std::to_string(most) + " heads"
                           : std::to_string(most) + " drafts") +
                      ", got " + std::to_string(k));
  return k;
}

/// Fails if -k differs from the depth of the tree. A round accepts at most this
/// number of drafts.
Status checkTreeDepth(const ImportOptions &options) {
  if (!options.maxK || *options.maxK == options.tree.depth)
    return okStatus();
  return invalidArgument("-k: expected the tree's depth " +
                         std::to_string(options.tree.depth) + ", got " +
                         std::to_string(*options.maxK));
}

/// Plans a tree of the model's own modules, which draft as in a chain: one
/// module per depth and the last one beyond, or one module at every depth.
Result<int64_t> planModuleTree(const ModelConfig &config,
                               const ImportOptions &options) {
  const DraftTree &tree = options.tree;
  std::string expected = "--draft-tree: expected chain ", got = ", got ";
  got += describeTree(tree);
  if (options.drafter.kind != DrafterKind::Modules)
    return invalidArgument(expected + "with --drafter '" +
                           methodName(options.drafter) + "'" + got);
  if (config.drafter.modules == 0)
    return invalidArgument(
        expected + "for a model without MTP modules and --drafter" + got);
  MTP_RETURN_IF_ERROR(checkTreeDepth(options));
  // One pass of a module covers the nodes of all depths before its own, which
  // must fit in the window.
  int64_t behind = planModules(config, options, tree.depth) - 1;
  bool isDynamic = tree.kind == DraftTreeKind::Dynamic;
  if (isDynamic && behind * tree.width >= kMostNodes)
    return outOfRange("--draft-tree: expected a width of at most " +
                      std::to_string((kMostNodes - 1) / behind) + " with " +
                      std::to_string(behind + 1) +
                      " modules, whose last one runs over the nodes of " +
                      std::to_string(behind) + " depths" + got);
  return tree.depth;
}

Result<int64_t> planTreeDrafts(const DrafterFolder &folder,
                               const ImportOptions &options) {
  int64_t heads = folder.heads();
  MTP_RETURN_IF_ERROR(checkTreeDepth(options));
  if (heads > 0 && options.tree.depth > heads)
    return outOfRange("--draft-tree: expected a depth of at most the "
                      "drafter's " +
                      std::to_string(heads) + " heads, got " +
                      std::to_string(options.tree.depth));
  bool isEagle = folder.method == FolderMethod::Eagle ||
                 folder.method == FolderMethod::Eagle3;
  if (options.tree.kind == DraftTreeKind::Dynamic && !isEagle)
    return unimplemented("--draft-tree: expected chain or a file with a "
                         "drafter of the method " +
                         std::string(toString(folder.method)) +
                         ", got a dynamic tree");
  return options.tree.depth;
}

/// Returns the length of the chain that a drafter in a folder drafts.
Result<int64_t> planFolderDrafts(const DrafterFolder &folder,
                                 const ImportOptions &options) {
  bool isChain = options.tree.kind == DraftTreeKind::Chain;
  bool isOnePass = folder.isBlock() || folder.method == FolderMethod::Pard ||
                   folder.method == FolderMethod::PEagle;
  if (isOnePass && !isChain)
    return unimplemented("--draft-tree: expected chain with a drafter of the "
                         "method " +
                         std::string(toString(folder.method)) + ", got " +
                         describeTree(options.tree));
  if (folder.isBlock())
    return planBlockDrafts(folder, options);
  return isChain ? planChainDrafts(folder, options)
                 : planTreeDrafts(folder, options);
}

/// Returns the largest number of drafts that a round can accept.
Result<int64_t> planDepth(const ModelConfig &config,
                          const ImportOptions &options) {
  bool drafts = hasDrafter(config, options);
  bool isFixed = options.drafter.kind == DrafterKind::Lookahead;
  int64_t usual = isFixed ? options.drafter.lookahead.depth() : kDefaultK;
  int64_t maxK = options.maxK.value_or(drafts ? usual : 0);
  auto refuse = [&](const std::string &what) {
    return invalidArgument("-k: expected " + what + ", got " +
                           std::to_string(maxK));
  };
  if (maxK > 0 && !drafts)
    return refuse("0 for a model without MTP modules and --drafter");
  if (isFixed && maxK != usual)
    return refuse(std::to_string(usual) + ", W + N - 3, with " +
                  methodName(options.drafter));
  bool isAsked = options.drafter.kind != DrafterKind::Modules;
  if (maxK < 1 && (isAsked || options.before || options.confidence))
    return refuse(std::string("at least 1 with ") + (isAsked ? "--drafter"
                                                     : options.before
                                                         ? "--before"
                                                         : "--confidence"));
  return maxK;
}

/// Returns true if the drafter's caches have entries of the target's hidden
/// states. Other drafters have no entries, or entries of tokens alone.
bool keepsHiddenStates(const DraftPlan &plan) {
  if (!plan.folder)
    return plan.modules > 0;
  switch (plan.folder->method) {
  case FolderMethod::Eagle:
  case FolderMethod::Eagle3:
  case FolderMethod::PEagle:
  case FolderMethod::DFlash:
  case FolderMethod::DSpark:
  case FolderMethod::Heads:
    return true;
  case FolderMethod::Medusa:
  case FolderMethod::Model:
  case FolderMethod::Pard:
    return false;
  }
  return false;
}

} // namespace

Result<DraftPlan> planDrafts(const ModelConfig &config,
                             const DrafterFolder *folder,
                             const ImportOptions &options) {
  MTP_RETURN_IF_ERROR(checkBefore(config, options));
  bool isTree = options.tree.kind != DraftTreeKind::Chain;
  if (config.recurrence() && isTree)
    return unimplemented("--draft-tree: expected chain with a model that has "
                         "recurrent layers, got " +
                         describeTree(options.tree));
  if (config.recurrence() && options.drafter.kind == DrafterKind::Lookahead)
    return unimplemented("--drafter: expected drafts in a chain with a model "
                         "that has recurrent layers, got '" +
                         methodName(options.drafter) + "'");
  MTP_RETURN_IF_ERROR(checkConfidence(config, folder, options));
  DraftPlan plan{options.drafter, options.before, options.accept};
  plan.folder = folder;
  plan.tree = options.tree;
  plan.confidence = options.confidence;
  plan.showsDrafts = options.showsDrafts;
  plan.changesLogits = options.hasLogitRules;
  MTP_ASSIGN_OR_RETURN(plan.maxK, folder   ? planFolderDrafts(*folder, options)
                                  : isTree ? planModuleTree(config, options)
                                           : planDepth(config, options));
  plan.modules = planModules(config, options, plan.maxK);
  plan.maxNodes = options.drafter.kind == DrafterKind::Lookahead
                      ? options.drafter.lookahead.rows()
                      : plan.tree.window();
  plan.catchUpRows = options.catchUpRows.value_or(
      keepsHiddenStates(plan) ? kDefaultCatchUpRows : 0);
  return plan;
}

} // namespace mtp::importer
