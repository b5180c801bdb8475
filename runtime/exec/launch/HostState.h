//===- HostState.h - The states that the host writes and reads --*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_HOSTSTATE_H
#define MTP_RUNTIME_EXEC_LAUNCH_HOSTSTATE_H

#include "runtime/device/Device.h"
#include "runtime/device/SamplingRow.h"
#include "runtime/exec/memory/KvCacheManager.h"
#include "runtime/exec/memory/Residency.h"
#include "runtime/schema/PlaceLayout.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mtp {

/// A part of a prompt in a chunk: the tokens [start, start + count).
struct PromptPart {
  uint32_t slot = 0;
  uint32_t start = 0;
  uint32_t count = 0;
  /// Padding rows before the first part of a chunk.
  uint32_t firstRow = 0;
  /// The whole prompt: drafters read tokens after the part.
  std::span<const int32_t> prompt;
};

/// Limits of a slot while rounds follow each other.
struct LoopLimits {
  /// Limit on the number of rounds.
  uint32_t rounds = 1;
  /// Tokens that the sequence may still put out.
  uint32_t budget = 0;
  /// Positions that have pages.
  uint64_t positions = 0;
  /// Limit on the rows of the slot in a round, if the program trims windows.
  uint32_t mostRows = UINT32_MAX;
  /// Whether no sequence reads what the slot puts out.
  bool isDead = false;
  /// Whether the round in which the sequence ends must be the last one.
  bool yields = false;
};

/// The host's side of the table "States" in runtime/schema/FORMAT.md: the
/// states that host and programs share by name. States that the artifact does
/// not have are not written.
class HostState {
public:
  /// Both must outlive it. Needs an artifact with an envelope.
  HostState(const Artifact &artifact, Executable &executable);

  // Errors are those of the device.

  Status setActive(std::span<const int32_t> slots);
  Status setPageTable(uint32_t slot, std::span<const int32_t> table);
  /// Copies the page table of a sequence's slot to the device if it has
  /// changed.
  Status syncPageTable(Residency &residency, const KvCacheManager &pages);
  Status setSampling(uint32_t slot, const SamplingRow &row);

  /// Whether rounds leave what they emit in a ring, and can follow each other.
  bool hasRing() const { return ring.state.has_value(); }
  Status setLoop(uint32_t slot, const LoopLimits &limits);
  /// Writes at most kStopTokens tokens.
  Status setStopTokens(uint32_t slot, std::span<const int32_t> tokens);

  /// Whether a slot may draft less than its round without any effect on its
  /// output.
  bool hasDraftLimit() const { return drafters.limit.state.has_value(); }
  Status setDraftLimit(uint32_t slot, uint32_t drafts);

  /// Whether the host can set how many of the rows that a slot ran last stay,
  /// besides the first row. Recurrent layers fold the rows that stay before the
  /// slot's next rows.
  bool canSetAccepted() const;
  Status setAccepted(uint32_t slot, int32_t drafts);

  /// Whether entries of drafters may be missing. Also the largest k for which
  /// the host states the missing entries, by two numbers for each k
  /// (PlaceLayout.h).
  bool hasDrafterPlaces() const { return drafters.places.state.has_value(); }
  uint32_t mostPlaced() const {
    return uint32_t(drafters.places.width / kPlaceWords);
  }
  Status setDrafterPlaces(uint32_t slot, std::span<const int32_t> words);

  /// Writes the rows of a chunk, one part after the other; all other rows are
  /// padding. More than one part needs a program for that number of sequences.
  Status setPrefill(std::span<const PromptPart> parts);

  /// Returns what the last round or prefill emitted for a slot; empty if the
  /// program broke its promise to emit 1 to K+1 tokens.
  Result<std::span<const int32_t>> emitted(uint32_t slot);
  /// A round's output for a slot, from the ring. Without a ring, the launch has
  /// one round.
  struct RoundOutput {
    /// The tokens, as emitted() returns them.
    std::span<const int32_t> tokens;
    /// The number of drafts that the round could have accepted; a number above
    /// the round's k means all.
    uint32_t drafted = 0;
  };
  Result<RoundOutput> emittedIn(uint32_t round, uint32_t slot);
  /// Returns the drafter's confidence in the first drafts of a slot in a round
  /// of the launch, at most `count`: of all drafts before the first one that is
  /// missing. Empty if the artifact does not say it.
  Result<std::vector<float>> confidences(uint32_t round, uint32_t slot,
                                         uint32_t count);
  /// Returns by slot the active rows of the last launch, whose program packs
  /// rows.
  Result<std::vector<uint64_t>> activeRows();

private:
  /// A state of i32 as rows of elements; absent if the artifact does not have
  /// it.
  struct Table {
    std::optional<uint32_t> state;
    uint64_t rows = 0;
    /// Elements of a row.
    uint64_t width = 0;
  };
  Table find(std::string_view name) const;
  static Binding row(const Table &table, uint64_t index);
  Status writeRow(const Table &table, uint64_t index, const void *source,
                  uint64_t bytes);
  Status writeAll(const Table &table, const std::vector<int32_t> &values);

  std::span<const int32_t> checkCount(int32_t count) const;

  const Artifact &artifact;
  Executable &executable;
  Table active, pageTable, sampling, outTokens, outCount;
  Table loop, stopTokens, ring, accepted;
  /// The states of drafters.
  struct DrafterTables {
    Table limit, places, confidence;
  };
  DrafterTables drafters;
  /// The states that describe a chunk of prompts.
  struct PromptTables {
    Table tokens, positions, slots, sequences;
  };
  PromptTables prompt;
  std::vector<int32_t> buffer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_HOSTSTATE_H
