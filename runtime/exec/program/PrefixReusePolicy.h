//===- PrefixReusePolicy.h - What a session may share -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_PREFIXREUSEPOLICY_H
#define MTP_RUNTIME_EXEC_PROGRAM_PREFIXREUSEPOLICY_H

#include "runtime/exec/program/ProgramTable.h"

#include <cstdint>
#include <vector>

namespace mtp {

/// The conditions under which KV pages of a known prefix replace running its
/// tokens. They follow from the states and caches that the programs of a
/// session name.
struct PrefixReusePolicy {
  /// False if a state cannot be rebuilt at all.
  bool isAllowed = true;
  /// Whether a state comes back only by running all rows, or by a copy.
  bool needsSnapshots = false;
  /// The number of last tokens of a prefix that run in any case, since the
  /// states that they leave are in no page.
  uint32_t rerun = 1;
  /// The number of tokens after a page on which its entries depend.
  uint32_t lookahead = 0;
  /// By k, whether rounds write all layers that prefills write, so that their
  /// pages are worth as much.
  std::vector<bool> roundsFill;
  /// The caches and layers that prefills write, and so rounds read.
  std::vector<std::pair<uint32_t, uint32_t>> filled;
  std::vector<size_t> layers;
};

/// Returns the rule for rounds of 0 to `k` drafts.
PrefixReusePolicy prefixReusePolicy(const Artifact &artifact,
                                    const ProgramTable &programs, uint32_t k);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_PREFIXREUSEPOLICY_H
