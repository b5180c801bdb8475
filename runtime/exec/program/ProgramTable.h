//===- ProgramTable.h - Find programs, states and ports ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_PROGRAMTABLE_H
#define MTP_RUNTIME_EXEC_PROGRAM_PROGRAMTABLE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mtp {

/// Looks up what a session needs of a verified plan.
class ProgramTable {
public:
  /// `plan` must outlive it.
  explicit ProgramTable(const Plan &plan);

  static constexpr uint64_t kAnyPositions = UINT64_MAX;

  /// The program of that shape; the fastest one where rows are at positions
  /// below `positions`. The verifier guarantees it within the envelope.
  uint32_t decode(uint32_t batch, uint32_t k,
                  uint64_t positions = kAnyPositions) const;
  /// The program of that shape with rows of just so many prompts beside its
  /// own, if there is one.
  std::optional<uint32_t> mixed(uint32_t batch, uint32_t k,
                                uint32_t prompts = 1) const;
  /// The least number of prompts, `prompts` or more, for which there is one; 0
  /// where there is none.
  uint32_t promptsBeside(uint32_t batch, uint32_t k, uint32_t prompts) const;
  /// The most prompts of such a program; 0 where there is none.
  uint32_t mostBeside() const;
  uint32_t promptRows(uint32_t program) const {
    return plan.programs[program].prompts;
  }

  /// Where the plan has no prefills for drafts of their own, the others do.
  /// There must be a chunk of so many rows and sequences.
  uint32_t prefill(uint32_t rows, bool drafts, uint32_t sequences = 1) const;

  /// The prefill of one sequence in which a library computes the products of
  /// all rows, and its rows; 0 where there is none.
  uint32_t libraryPrefill(bool drafts) const;
  uint32_t libraryRows() const { return rowsOfLibrary; }

  /// The prefill that refreshes drafters over so many rows, 1 to catchUpRows(),
  /// of at most catchUpSequences() sequences, and how many positions in front
  /// of the anchor they may begin; 0 where there is none.
  uint32_t catchUp(uint32_t rows) const { return find(catchUps, rows); }
  uint32_t catchUpRows() const { return mostCatchUpRows; }
  uint32_t catchUpSequences() const { return mostCatchUpSequences; }
  uint32_t catchUpReach() const { return reach; }

  /// Whether prefills leave behind what drafts need only if asked.
  bool hasDraftingPrefill() const { return !drafting.empty(); }

  /// Whether prompts can be cut into chunks of so many rows, which belong to so
  /// many sequences, each with a row at least.
  bool hasChunk(uint32_t rows, uint32_t sequences = 1) const;
  /// The least number of sequences, `sequences` or more, for which there is a
  /// chunk of so many rows; 0 where there is none.
  uint32_t sequencesOf(uint32_t rows, uint32_t sequences) const;
  /// The most sequences of a chunk, at least 1.
  uint32_t mostSequences() const { return plain.rbegin()->first; }
  /// The sizes that a prompt can be cut into: the least and the most rows of
  /// each run of prefill programs for one sequence without a gap, ascending.
  std::vector<std::pair<uint32_t, uint32_t>> chunks() const;

  /// The rows of the program for one sequence that the next `rest` tokens of a
  /// prompt should go through, of those up to `largest`, which must be one's.
  /// README.md has the rule.
  uint32_t nextChunk(uint64_t rest, uint32_t largest) const;

  /// The exported function, or NotFound.
  Result<uint32_t> function(std::string_view name) const;

  /// The rows of logits that a Decode or Prefill program leaves, at n.
  Binding logits(uint32_t program, uint32_t n) const;
  /// The rows of a slot that a round of k verifies.
  uint32_t nodes(uint32_t k) const;
  /// Those of prompts beside a round, a row each.
  Binding promptLogits(uint32_t program, uint32_t n) const;
  /// The paths that a Decode program of a tree leaves, k + 1 nodes for each
  /// slot; of no bytes where there is no tree.
  Binding path(uint32_t program, uint32_t n) const;
  /// Where a Decode program that packs its rows has them, a number for each row
  /// of a slot that it verifies; of no bytes where it does not.
  Binding places(uint32_t program, uint32_t n) const;

  /// Whether rounds of some k may stop, so that the host sees their drafts.
  bool canStop() const;
  /// What a Decode program that may stop has drafted by then, as many numbers
  /// for each slot, and the parents of nodes; of no bytes where there are none.
  Binding drafts(uint32_t program, uint32_t n) const;
  Binding parents(uint32_t program, uint32_t n) const;

  const Program &program(uint32_t index) const { return plan.programs[index]; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Programs by their least n.
  using Ranges = std::map<uint32_t, uint32_t>;
  uint32_t find(const Ranges &ranges, uint32_t n) const;

  const Plan &plan;
  /// By k, and then by the positions that rows are below.
  std::map<uint32_t, std::map<uint64_t, Ranges>> decodes;
  /// With rows of prompts, by these and k.
  std::map<uint32_t, std::map<uint32_t, Ranges>> mixes;
  /// By sequences.
  std::map<uint32_t, Ranges> plain, drafting;
  /// Those of drafters that fell behind.
  Ranges catchUps;
  uint32_t mostCatchUpRows = 0, mostCatchUpSequences = 0, reach = 0;
  /// Prefills with products of a library, that do not draft and that do.
  uint32_t plainLibrary = kNone, draftingLibrary = kNone, rowsOfLibrary = 0;
  std::unordered_map<std::string_view, uint32_t> functions;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_PROGRAMTABLE_H
