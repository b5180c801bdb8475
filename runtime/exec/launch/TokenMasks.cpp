//===- TokenMasks.cpp - Masks of the rows of constrained texts ------------===//

#include "runtime/exec/launch/TokenMasks.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>

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
      width(maskWords(artifact.envelope->vocab())) {
  if (artifact.findState(kLogitRules))
    state = artifact.findState(kLogitMasks);
}

Status TokenMasks::makeFirst(const TokenConstraint &constraint,
                             std::span<const int32_t> output) {
  std::unique_ptr<ConstraintMatcher> matcher = constraint.begin();
  for (size_t i = 0; i + 1 < output.size(); ++i)
    MTP_RETURN_IF_ERROR(matcher->accept(output[i]));
  return makeNext(*matcher);
}

Status TokenMasks::makeNext(const ConstraintMatcher &matcher) {
  words.resize(width);
  return matcher.maskPath({}, words).status();
}

/// Makes the masks of the rows after the drafts of a path. `path` has the nodes
/// of the drafts, in order.
Status TokenMasks::addPath(const ConstraintMatcher &matcher,
                           std::span<const size_t> path,
                           std::span<const int32_t> drafts) {
  rows.resize((path.size() + 1) * width);
  MTP_ASSIGN_OR_RETURN(size_t count, matcher.maskPath(drafts, rows));
  for (size_t i = 1; i < count; ++i)
    std::copy_n(rows.begin() + i * width, width,
                words.begin() + path[i - 1] * width);
  return okStatus();
}

/// Returns the nodes of the drafts that lead to a node, in order. Empty if a
/// draft on the path is absent.
static std::vector<size_t> pathTo(size_t node, const SeenDrafts &seen) {
  std::vector<size_t> path;
  while (node > 0) {
    if (seen.tokens[node - 1] < 0)
      return {};
    path.push_back(node);
    size_t parent = seen.parents.empty()
                        ? node - 1
                        : size_t(std::max(seen.parents[node], int32_t(0)));
    // A parent comes before its children.
    node = std::min(parent, node - 1);
  }
  std::ranges::reverse(path);
  return path;
}

Status TokenMasks::makePaths(const ConstraintMatcher &matcher,
                             const SeenDrafts &seen) {
  MTP_RETURN_IF_ERROR(makeNext(matcher));
  size_t count = std::min<size_t>(seen.tokens.size() + 1, nodes);
  // Any mask with a token will do where no draft can be accepted.
  words.resize(count * width);
  for (size_t node = 1; node < count; ++node)
    std::copy_n(words.begin(), width, words.begin() + node * width);
  // The path to a node covers all nodes on it, so the last ones come first.
  std::vector<bool> isDone(count, false);
  for (size_t node = count - 1; node > 0; --node) {
    std::vector<size_t> path;
    if (!isDone[node])
      path = pathTo(node, seen);
    std::vector<int32_t> drafts;
    for (size_t on : path) {
      isDone[on] = true;
      drafts.push_back(seen.tokens[on - 1]);
    }
    if (!path.empty())
      MTP_RETURN_IF_ERROR(addPath(matcher, path, drafts));
  }
  return okStatus();
}

Status TokenMasks::store(uint32_t slot) {
  uint64_t bytes = words.size() * sizeof(uint32_t);
  return executable.write({schema::Space::State, *state,
                           slot * nodes * width * sizeof(uint32_t), bytes},
                          words.data(), bytes);
}
