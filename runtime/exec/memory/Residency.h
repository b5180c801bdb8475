//===- Residency.h - What a sequence has while it has a slot ----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_RESIDENCY_H
#define MTP_RUNTIME_EXEC_MEMORY_RESIDENCY_H

#include <cstdint>
#include <vector>

namespace mtp {

/// How far the drafters of a sequence have valid entries. A round with fewer
/// drafts than fill all caches, or than the round before had accepted, leaves
/// gaps.
struct DrafterProgress {
  /// The places of the entries of drafters that have left out positions.
  struct Places {
    /// The number of positions that were left out.
    uint64_t skipped = 0;
    /// The first place after the last gap.
    uint64_t first = 0;
  };

  /// By k, the position up to which the drafters of a round of k are valid. The
  /// last element covers all drafters that a prefill runs. A position p means:
  /// as a prefill of p tokens leaves the drafters. Empty until the prefill has
  /// ended.
  std::vector<uint64_t> drafterValidUpTo;
  /// Whether entries of drafters are missing for good.
  bool hasDrafterGap = false;
  /// By k - 1, the places of drafters that rounds of a smaller k do not run.
  std::vector<Places> places;
  /// The copy of `places` that the device has.
  std::vector<int32_t> placeWords;
};

/// The slot of a sequence, and how far it has been computed there. A sequence
/// has a residency while it is Prefilling or Running.
struct Residency {
  uint32_t slot = 0;
  /// The tokens that prefill computes: the prompt, and after a preemption the
  /// output without its last token, which prefill then picks again. From the
  /// end of prefill on also the output, up to the anchor.
  std::vector<int32_t> context;
  /// Positions whose KV entries are final: the tokens prefilled so far, and
  /// after prefill the position of the anchor.
  uint64_t length = 0;
  /// Positions of `context` whose entries came from the prefix index or from a
  /// copy of recurrent states.
  uint64_t reused = 0;
  /// Positions whose pages came from the prefix index.
  uint64_t taken = 0;
  /// Positions that the device's copy of the slot's page table has pages for;
  /// 0 if that copy belongs to another sequence or is older.
  uint64_t tableCapacity = 0;
  /// Rows of the prompt that were scored in the slot.
  uint64_t scored = 0;
  /// Drafts that the last round accepted.
  uint32_t accepted = 0;
  /// Whether nothing has run since the sequence went on from a copy whose kept
  /// rows are not the rows of a prompt's chunk.
  bool isBehindCopy = false;
  /// Whether the device knows all tokens that end the sequence.
  bool endsOnDevice = false;
  DrafterProgress drafters;

  bool isPrefilled() const { return !drafters.drafterValidUpTo.empty(); }
  /// Tokens of `context` that prefill has yet to compute.
  uint64_t rest() const { return context.size() - length; }
  /// Returns the position up to which drafters should be valid between two
  /// rounds: the next round refreshes them over what the last one verified.
  uint64_t draftsFrom() const { return length - accepted; }
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_RESIDENCY_H
