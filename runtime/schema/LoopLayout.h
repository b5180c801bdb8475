//===- LoopLayout.h - States of a launch of rounds --------------*- C++ -*-===//
//
// States for several rounds per launch without the host between them. The host
// writes `loop` and `stop_tokens`, and reads `ring` while the device continues.
// FORMAT.md describes all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_LOOPLAYOUT_H
#define MTP_RUNTIME_SCHEMA_LOOPLAYOUT_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// Output of a round with one i32 per slot that decides whether another round
/// follows. Negative: no, whatever the other slots say. 0: not for this slot.
/// Positive: yes.
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
  /// Number of rounds of the launch so far, which is the index of the next
  /// entry of the ring.
  kLoopRound,
  /// Maximum number of rounds of the launch.
  kLoopRounds,
  /// Number of tokens that the sequence may still output.
  kLoopBudget,
  /// Number of positions that have pages. The launch ends with the round after
  /// which some rows of a next round would have no page.
  kLoopPositions,
  /// 1: the sequence has ended, and the output of its further rounds is
  /// ignored.
  kLoopEnded,
  /// 1: the launch ends with the round in which the sequence ends.
  kLoopYields,
  /// Number of active rows of the slot in the launch's rounds so far.
  kLoopRows,
  /// Maximum number of rows of the slot in a round, for a program that trims
  /// windows.
  kLoopMostRows,
};
inline constexpr int64_t kLoopWords = 8;

/// Maximum number of tokens that end a sequence on the device; -1 is none. A
/// sequence with more end tokens runs one round per launch.
inline constexpr int64_t kStopTokens = 8;

/// Number of a slot's entries in the state "ring", one for each round of a
/// launch. An entry has the number of tokens (0 after the sequence's end), then
/// the tokens.
inline constexpr int64_t kRingRounds = 32;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_LOOPLAYOUT_H
