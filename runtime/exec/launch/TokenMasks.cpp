//===- TokenMasks.cpp - Masks of the rows of constrained texts ------------===//

#include "runtime/exec/launch/TokenMasks.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>
#include <bit>
#include <utility>

using namespace mtp;

bool mtp::showsPaths(const Plan &plan, const ProgramTable &programs,
                     uint32_t k) {
  for (uint32_t i = 0; i < plan.programs.size(); ++i) {
    const Program &program = plan.programs[i];
    if (program.kind != schema::ProgramKind::Decode || program.prompts > 0 ||
        program.k == 0 || program.k > k)
      continue;
    bool isChain = programs.nodes(program.k) == program.k + 1;
    if (program.cut == 0 ||
        (!isChain && programs.parents(i, program.begin).bytes == 0))
      return false;
  }
  return true;
}

TokenMasks::TokenMasks(const Artifact &artifact, Executable &executable)
    : executable(executable),
      nodes(std::min<size_t>(mostNodes(*artifact.envelope), kMostMasks)),
      width(maskWords(artifact.envelope->vocab())),
      draftWords(mostNodes(*artifact.envelope)),
      mayBeDrawn(!artifact.findState("draft_limit")) {
  if (!artifact.findState(kLogitRules))
    return;
  state = artifact.findState(kLogitMasks);
  draftState = artifact.findState(kHostDrafts);
}

Status TokenMasks::makeFirst(const TokenConstraint &constraint,
                             std::span<const int32_t> output) {
  std::unique_ptr<ConstraintMatcher> matcher = constraint.begin();
  for (size_t i = 0; i + 1 < output.size(); ++i)
    MTP_RETURN_IF_ERROR(matcher->accept(output[i]));
  return makeNext(*matcher);
}

Status TokenMasks::makeNext(ConstraintMatcher &matcher) {
  words.resize(width);
  return matcher.mask(words);
}

//===----------------------------------------------------------------------===//
// Paths of drafts
//===----------------------------------------------------------------------===//

namespace {
/// The nodes of a window as a tree, by their parents.
struct WindowTree {
  WindowTree(const SeenDrafts &seen, size_t count);

  /// The parent of each node; 0 for the root.
  std::vector<size_t> parents;
  /// The child of each node with the longest path below; 0 for none.
  std::vector<size_t> mains;
  /// The number of drafts on the longest path below each node.
  std::vector<size_t> below;
};
} // namespace

WindowTree::WindowTree(const SeenDrafts &seen, size_t count)
    : parents(count, 0), mains(count, 0), below(count, 0) {
  for (size_t node = 1; node < count; ++node) {
    parents[node] = node - 1;
    // A parent comes before its children.
    if (node < seen.parents.size())
      parents[node] =
          std::min(size_t(std::max(seen.parents[node], int32_t(0))), node - 1);
  }
  for (size_t node = count; node-- > 1;) {
    size_t parent = parents[node];
    if (below[node] + 1 < below[parent])
      continue;
    below[parent] = below[node] + 1;
    mains[parent] = node;
  }
}

/// Returns the only token of a mask; -1 if it has none or several.
static int32_t onlyToken(std::span<const uint32_t> mask) {
  int32_t only = -1;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0)
      continue;
    if (only >= 0 || !std::has_single_bit(mask[i]))
      return -1;
    only = int32_t(i * 32) + std::countr_zero(mask[i]);
  }
  return only;
}

/// Makes the mask after a node's draft, and finds the tokens that the
/// constraint forces there. The longest path below the node has `below` drafts.
Status TokenMasks::maskNode(size_t node, size_t below, Place &place) {
  std::span<uint32_t> mask(words.data() + node * width, width);
  MTP_RETURN_IF_ERROR(place.matcher->mask(mask));
  if (below == 0 || !place.forced.empty())
    return okStatus();
  if (!mayBeDrawn)
    place.forced = place.matcher->forced(below);
  if (int32_t only = onlyToken(mask); place.forced.empty() && only >= 0)
    place.forced = {only};
  return okStatus();
}

bool TokenMasks::allows(size_t node, int32_t token) const {
  return token >= 0 && size_t(token) / 32 < width &&
         (words[node * width + size_t(token) / 32] >> token % 32 & 1) != 0;
}

/// Returns the token to verify as a child of `parent`, or -1 for none. Drafts
/// that follow a forced token in place of another draft are left out: they
/// were made for another text. Without a draft that is not allowed, a drawn
/// chain would end early with another distribution of its last token.
int32_t TokenMasks::chooseDraft(size_t parent, const Place &from, bool isMain,
                                int32_t draft) const {
  if (!from.matcher)
    return -1;
  if (isMain && !from.forced.empty() && allows(parent, from.forced.front()))
    return from.forced.front();
  return from.isDrafted && (mayBeDrawn || allows(parent, draft)) ? draft : -1;
}

/// Takes the token of a node, and makes the mask after it.
Status TokenMasks::enterNode(size_t node, size_t below, int32_t token,
                             Place &place) {
  MTP_RETURN_IF_ERROR(place.matcher->accept(token));
  return maskNode(node, below, place);
}

Status TokenMasks::makePaths(ConstraintMatcher &matcher, size_t count,
                             SeenDrafts &seen) {
  count = std::clamp<size_t>(count, 1, std::min(nodes, seen.tokens.size() + 1));
  WindowTree tree(seen, count);
  words.resize(count * width);
  std::vector<Place> places(count);
  places[0].matcher = matcher.fork();
  MTP_RETURN_IF_ERROR(maskNode(0, tree.below[0], places[0]));
  std::fill(seen.tokens.begin() + long(count) - 1, seen.tokens.end(), -1);
  for (size_t node = 1; node < count; ++node) {
    size_t parent = tree.parents[node];
    const Place &from = places[parent];
    bool isMain = tree.mains[parent] == node;
    int32_t &token = seen.tokens[node - 1];
    int32_t draft =
        std::exchange(token, chooseDraft(parent, from, isMain, token));
    Place &to = places[node];
    if (token >= 0 && allows(parent, token)) {
      to.matcher = from.matcher->fork();
      to.isDrafted = from.isDrafted && token == draft;
      if (!from.forced.empty() && token == from.forced.front())
        to.forced.assign(from.forced.begin() + 1, from.forced.end());
      Status entered = enterNode(node, tree.below[node], token, to);
      if (entered.isOk())
        continue;
      // The text may never come here. Without the draft, the next round finds
      // out. A chain that was drawn cannot end early, though.
      if (mayBeDrawn)
        return entered;
      token = -1;
      to.matcher.reset();
    }
    // A mask with a token, for a row whose pick does not count.
    std::copy_n(words.begin(), width, words.begin() + long(node * width));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

Status TokenMasks::store(uint32_t slot) {
  uint64_t bytes = words.size() * sizeof(uint32_t);
  return executable.write({schema::Space::State, *state,
                           slot * nodes * width * sizeof(uint32_t), bytes},
                          words.data(), bytes);
}

Status TokenMasks::storeDrafts(uint32_t slot, const SeenDrafts &seen) {
  std::vector<int32_t> tokens(draftWords, -1);
  size_t count = std::min<size_t>(seen.tokens.size(), draftWords - 1);
  std::copy_n(seen.tokens.begin(), count, tokens.begin() + 1);
  uint64_t bytes = draftWords * sizeof(int32_t);
  return executable.write(
      {schema::Space::State, *draftState, slot * bytes, bytes}, tokens.data(),
      bytes);
}
