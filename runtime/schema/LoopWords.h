//===- LoopWords.h - What a launch of several rounds goes by ----*- C++ -*-===//
//
// The states by which rounds follow each other without the host: it writes
// `loop` and `stop_tokens`, and reads `ring` while the device goes on.
// FORMAT.md has all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_LOOPWORDS_H
#define MTP_RUNTIME_SCHEMA_LOOPWORDS_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// The output of a round in which each of its slots says whether there shall be
/// another: i32, negative: no, whatever the others say; 0: not for this slot;
/// positive: yes.
inline constexpr std::string_view kAgain = "again";

/// Whether a device runs another round.
inline bool isAgain(const int32_t *slots, uint64_t count) {
  bool isWanted = false;
  for (uint64_t i = 0; i < count; ++i) {
    if (slots[i] < 0)
      return false;
    isWanted |= slots[i] > 0;
  }
  return isWanted;
}

/// Words of a slot in the state "loop".
enum LoopWord : int64_t {
  /// Rounds of the launch so far; the entry of the ring that is next.
  kLoopRound,
  /// Rounds that the launch has at most.
  kLoopRounds,
  /// Tokens that the sequence may still put out.
  kLoopBudget,
  /// Positions that have pages: the last round is the one behind which not all
  /// of a round's would have one.
  kLoopPositions,
  /// 1: the sequence has ended, and nobody reads what its rounds put out.
  kLoopEnded,
  /// 1: the launch ends with the round in which the sequence does.
  kLoopYields,
  /// Rows of the slot that lived in the launch's rounds so far.
  kLoopRows,
  /// Rows that the slot may have in a round, of a program that trims windows.
  kLoopMostRows,
};
inline constexpr int64_t kLoopWords = 8;

/// Tokens that end a sequence on the device; -1 is none. One with more runs one
/// round at a time.
inline constexpr int64_t kStopTokens = 8;

/// Entries of a slot in the state "ring", one for each round of a launch: how
/// many tokens, 0 behind the sequence's end, and then the tokens.
inline constexpr int64_t kRingRounds = 32;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_LOOPWORDS_H
