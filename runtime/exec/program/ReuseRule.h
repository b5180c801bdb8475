//===- ReuseRule.h - What a session may share -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_REUSERULE_H
#define MTP_RUNTIME_EXEC_PROGRAM_REUSERULE_H

#include "runtime/exec/program/ProgramTable.h"

#include <cstdint>
#include <vector>

namespace mtp {

/// When KV pages of a known prefix stand for running its tokens. Follows from
/// the states and caches that the programs of a session name.
struct ReuseRule {
  /// False where a state cannot be rebuilt at all.
  bool isAllowed = true;
  /// Whether a state comes back by running all rows, or by a copy of it.
  bool needsSnapshots = false;
  /// The last tokens of a prefix that are run in any case: what they leave
  /// behind is in no page.
  uint32_t rerun = 1;
  /// Tokens behind a page that its entries depend on.
  uint32_t lookahead = 0;
  /// By k: whether rounds write all that prefills write, so that their pages
  /// are worth as much; and how many of these layers they write, those of
  /// prefills last. Who writes more writes those of the others, too.
  std::vector<bool> roundsFill;
  /// Caches and layers that prefills write, and so rounds read.
  std::vector<std::pair<uint32_t, uint32_t>> filled;
  std::vector<size_t> layers;
};

/// The rule for rounds of 0 to `k` drafts.
ReuseRule reuseRule(const Artifact &artifact, const ProgramTable &programs,
                    uint32_t k);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_REUSERULE_H
