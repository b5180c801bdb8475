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
/// masks fails with an error of the constraint; store() fails with an error of
/// the device.
class TokenMasks {
public:
  /// Both must outlive it. Needs an artifact with an envelope.
  TokenMasks(const Artifact &artifact, Executable &executable);

  /// Whether the artifact's programs read masks.
  bool exist() const { return state.has_value(); }

  /// Makes the mask of a prompt's pick, which gives the last token of `output`
  /// again, or the first token of the sequence.
  Status makeFirst(const TokenConstraint &constraint,
                   std::span<const int32_t> output);
  /// Makes the mask of the row after the anchor.
  Status makeNext(const ConstraintMatcher &matcher);
  /// Makes the masks of the anchor's row and of the rows of drafts. The rows
  /// of drafts that are not allowed get the mask of another row: no draft of
  /// such a row can be accepted.
  Status makePaths(const ConstraintMatcher &matcher, const SeenDrafts &seen);

  /// Writes the masks made last for a slot.
  Status store(uint32_t slot);

private:
  Status addPath(const ConstraintMatcher &matcher, std::span<const size_t> path,
                 std::span<const int32_t> drafts);

  Executable &executable;
  std::optional<uint32_t> state;
  uint64_t nodes, width;
  /// The masks made last, from node 0 on.
  std::vector<uint32_t> words;
  /// The masks of a path.
  std::vector<uint32_t> rows;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_TOKENMASKS_H
