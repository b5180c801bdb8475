//===- TokenMasks.h - Masks of the rows of constrained texts ----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_TOKENMASKS_H
#define MTP_RUNTIME_EXEC_LAUNCH_TOKENMASKS_H

#include "mtp/session.h"
#include "runtime/device/Device.h"
#include "runtime/exec/program/ProgramTable.h"

#include <optional>
#include <span>
#include <vector>

namespace mtp {

/// Whether rounds of up to `k` drafts stop for the host, which then knows the
/// path to each draft: the drafts are a chain or come with their parents.
bool showsPaths(const Plan &plan, const ProgramTable &programs, uint32_t k);

/// Makes the masks of a slot's rows, a bit per token for each node of its
/// window, and writes them to the state "logit_masks". A function that makes
/// masks fails with an error of the constraint; a function that stores fails
/// with an error of the device.
class TokenMasks {
public:
  /// Both must outlive it. Needs an artifact with an envelope.
  TokenMasks(const Artifact &artifact, Executable &executable);

  /// Whether the artifact's programs read masks.
  bool exist() const { return state.has_value(); }
  /// Whether programs verify the drafts that the host writes for a slot with
  /// masks.
  bool replaceDrafts() const { return exist() && draftState.has_value(); }

  /// Makes the mask of a prompt's pick, which gives the last token of `output`
  /// again, or the first token of the sequence.
  Status makeFirst(const TokenConstraint &constraint,
                   std::span<const int32_t> output);
  /// Makes the mask of the row after the anchor.
  Status makeNext(ConstraintMatcher &matcher);
  /// Decides which drafts are verified, and makes the masks of their rows and
  /// of the anchor's row. The slot's window has `count` nodes. In `seen`,
  /// forced tokens of the constraint replace drafts or the lack of drafts, and
  /// -1 replaces drafts that are not allowed.
  ///
  /// If k may change the output, the accept rule may assume that drafts were
  /// drawn from the drafter's distribution. Drafts that are not allowed then
  /// stay, as the target's distribution rejects them. Only a token that is the
  /// only one of its mask replaces a draft.
  Status makePaths(ConstraintMatcher &matcher, size_t count, SeenDrafts &seen);

  /// Writes the masks made last for a slot.
  Status store(uint32_t slot);
  /// Writes the drafts that the slot's rows verify. Precondition:
  /// replaceDrafts().
  Status storeDrafts(uint32_t slot, const SeenDrafts &seen);

private:
  /// A node whose draft is allowed.
  struct Place {
    /// Null if the node has no allowed draft.
    std::unique_ptr<ConstraintMatcher> matcher;
    /// Tokens that the constraint forces next.
    std::vector<int32_t> forced;
    /// Whether the drafter proposed all drafts up to the node.
    bool isDrafted = true;
  };
  Status maskNode(size_t node, size_t below, Place &place);
  Status enterNode(size_t node, size_t below, int32_t token, Place &place);
  bool allows(size_t node, int32_t token) const;
  int32_t chooseDraft(size_t parent, const Place &from, bool isMain,
                      int32_t draft) const;

  Executable &executable;
  std::optional<uint32_t> state, draftState;
  /// Masks of a slot, words of a mask, and words of a slot's drafts.
  uint64_t nodes, width, draftWords;
  /// Whether drafts may come from a distribution that the accept rule knows.
  bool mayBeDrawn;
  /// The masks made last, from node 0 on.
  std::vector<uint32_t> words;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_TOKENMASKS_H
