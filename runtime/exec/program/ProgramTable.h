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

/// Looks up the programs, states and ports of a verified plan.
class ProgramTable {
public:
  /// `plan` must outlive it.
  explicit ProgramTable(const Plan &plan);

  static constexpr uint64_t kAnyPositions = UINT64_MAX;

  /// Returns the program of a shape; the fastest one if rows are at positions
  /// below `positions`. The verifier guarantees it within the envelope.
  uint32_t decode(uint32_t batch, uint32_t k,
                  uint64_t positions = kAnyPositions) const;
  /// Returns the program of a shape with rows of exactly `prompts` prompts
  /// besides its own, if there is one.
  std::optional<uint32_t> mixed(uint32_t batch, uint32_t k,
                                uint32_t prompts = 1) const;
  /// Returns the least number of prompts, at least `prompts`, for which there
  /// is a program with prompt rows; 0 if there is none.
  uint32_t mixedPrompts(uint32_t batch, uint32_t k, uint32_t prompts) const;
  /// Returns the most prompts of such a program; 0 if there is none.
  uint32_t mostMixed() const;
  uint32_t promptRows(uint32_t program) const {
    return plan.programs[program].prompts;
  }

  /// Returns the prefill for a chunk of `rows` rows of `sequences` sequences,
  /// which must exist. `drafts`: the prefill for rounds with drafts, if the
  /// plan has one of its own.
  uint32_t prefill(uint32_t rows, bool drafts, uint32_t sequences = 1) const;

  /// Returns the prefill of one sequence in which a library computes the
  /// products of all rows; and its rows, 0 if there is none.
  uint32_t libraryPrefill(bool drafts) const;
  uint32_t libraryRows() const { return rowsOfLibrary; }

  /// Returns the prefill that refreshes drafters over `rows` rows, 1 to
  /// catchUpRows(), of at most catchUpSequences() sequences. They begin at most
  /// catchUpReach() positions before the anchor. These numbers are 0 if there
  /// is no such program.
  uint32_t catchUp(uint32_t rows) const { return find(catchUps, rows); }
  uint32_t catchUpRows() const { return mostCatchUpRows; }
  uint32_t catchUpSequences() const { return mostCatchUpSequences; }
  uint32_t catchUpReach() const { return reach; }

  /// Whether only some prefills leave the states that drafts need.
  bool hasDraftingPrefill() const { return !drafting.empty(); }

  /// Whether there is a chunk of `rows` rows of `sequences` sequences, each
  /// with at least one row.
  bool hasChunk(uint32_t rows, uint32_t sequences = 1) const;
  /// Returns the least number of sequences, at least `sequences`, for which
  /// there is a chunk of `rows` rows; 0 if there is none.
  uint32_t sequencesOf(uint32_t rows, uint32_t sequences) const;
  /// Returns the most sequences of a chunk, at least 1.
  uint32_t mostSequences() const { return plain.rbegin()->first; }
  /// Returns the sizes of chunks: the least and the most rows of each run of
  /// prefill programs for one sequence without a gap, ascending.
  std::vector<std::pair<uint32_t, uint32_t>> chunks() const;

  /// Returns the rows of the program for one sequence through which the next
  /// `rest` tokens of a prompt should go. Its rows are at most `largest`, which
  /// must be a program's. DESIGN.md has the rule.
  uint32_t nextChunk(uint64_t rest, uint32_t largest) const;

  /// Returns the exported function, or NotFound.
  Result<uint32_t> function(std::string_view name) const;

  /// Returns the rows of logits that a Decode or Prefill program leaves at n.
  Binding logits(uint32_t program, uint32_t n) const;
  /// Returns the rows of a slot that a round of k verifies.
  uint32_t nodes(uint32_t k) const { return windows[k]; }
  /// Returns the rows of logits of the prompts in a mixed batch, one for each.
  Binding promptLogits(uint32_t program, uint32_t n) const;
  /// Returns the paths that a Decode program of a tree leaves, k + 1 nodes for
  /// each slot; of no bytes if there is no tree.
  Binding path(uint32_t program, uint32_t n) const;
  /// Returns where a Decode program that packs its rows has them, a number for
  /// each row of a slot that it verifies; of no bytes if it does not pack.
  Binding places(uint32_t program, uint32_t n) const;

  /// Whether rounds of some k may stop, so that the host sees their drafts.
  bool canStop() const;
  /// Returns the drafts that a Decode program has made when it stops, an equal
  /// number for each slot; and the parents of nodes. Of no bytes if there are
  /// none.
  Binding drafts(uint32_t program, uint32_t n) const;
  Binding parents(uint32_t program, uint32_t n) const;

  const Program &program(uint32_t index) const { return plan.programs[index]; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Programs by their least n.
  using Ranges = std::map<uint32_t, uint32_t>;
  uint32_t find(const Ranges &ranges, uint32_t n) const;

  const Plan &plan;
  /// By k, the rows of a slot in a round.
  std::vector<uint32_t> windows;
  /// By k, and then by the positions that rows are below.
  std::map<uint32_t, std::map<uint64_t, Ranges>> decodes;
  /// Programs with prompt rows, by the number of prompts and k.
  std::map<uint32_t, std::map<uint32_t, Ranges>> mixes;
  /// By the number of sequences.
  std::map<uint32_t, Ranges> plain, drafting;
  /// Programs that refresh drafters.
  Ranges catchUps;
  uint32_t mostCatchUpRows = 0, mostCatchUpSequences = 0, reach = 0;
  /// Prefills with products of a library, without and with drafts.
  uint32_t plainLibrary = kNone, draftingLibrary = kNone, rowsOfLibrary = 0;
  std::unordered_map<std::string_view, uint32_t> functions;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_PROGRAMTABLE_H
