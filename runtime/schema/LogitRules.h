//===- LogitRules.h - Layout of the rules of logits -------------*- C++ -*-===//
//
// Words of the state "logit_rules", which says how the logits of a slot's rows
// change before a token is picked. FORMAT.md describes the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_LOGITRULES_H
#define MTP_RUNTIME_SCHEMA_LOGITRULES_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// States of the rules, each with a row per slot.
inline constexpr std::string_view kLogitRules = "logit_rules";
inline constexpr std::string_view kTokenCounts = "token_counts";
inline constexpr std::string_view kLogitBias = "logit_bias";
inline constexpr std::string_view kLogitPath = "logit_path";
/// A bit per token for each of the first nodes of a slot's window. Optional.
inline constexpr std::string_view kLogitMasks = "logit_masks";
/// The drafts of a slot with masks, as the host wants them verified: a token
/// per node of the window, -1 for none. Optional.
inline constexpr std::string_view kHostDrafts = "host_drafts";

/// Returns whether a state holds rules or masks of slots.
inline bool isRuleState(std::string_view name) {
  return name == kLogitRules || name == kTokenCounts || name == kLogitBias ||
         name == kLogitPath || name == kLogitMasks || name == kHostDrafts;
}

/// Words of a slot in the state "logit_rules".
enum RuleWord : int64_t {
  /// Bits of RuleFlag; 0 if the slot has no rules. Other words and states of
  /// the slot are read only if their bit is set.
  kRuleFlags,
  /// f32: the repetition, presence and frequency penalty.
  kRuleRepetition,
  kRulePresence,
  kRuleFrequency,
  /// End tokens are masked in rows whose next position is below this one.
  kRuleEndsFrom,
  /// Number of end tokens.
  kRuleEndCount,
  /// The end tokens.
  kRuleEnds = 8,
};
inline constexpr int64_t kRuleWords = 256;
/// Maximum number of end tokens that are masked.
inline constexpr int64_t kMostRuleEnds = kRuleWords - kRuleEnds;

enum RuleFlag : int32_t {
  /// The slot has penalties; its row of "token_counts" is valid.
  kRulePenalties = 1,
  /// The slot's row of "logit_bias" is valid.
  kRuleBias = 2,
  /// End tokens are masked below kRuleEndsFrom.
  kRuleMasksEnds = 4,
  /// The slot's rows of "logit_masks" are valid.
  kRuleTokenMasks = 8,
};

/// Returns the number of i32 words that have a bit for each token.
inline constexpr uint64_t maskWords(uint64_t vocab) {
  return (vocab + 31) / 32;
}

/// Returns the number of words of a slot in "token_counts". Token v has 16
/// bits, which are the lower half of word v / 2 if v is even.
inline constexpr uint64_t countWords(uint64_t vocab) { return (vocab + 1) / 2; }

/// Bits of a token in "token_counts": whether it is in the prompt. The number
/// of its occurrences in the output, at most kMostCounted, is counted from the
/// next bit on. So a word is not negative.
inline constexpr int32_t kCountInPrompt = 1;
inline constexpr int32_t kCountOfOutput = 2;
inline constexpr int32_t kMostCounted = 16383;
/// Values of the 16 bits of a token.
inline constexpr int64_t kCountValues = 1 << 16;

/// Maximum number of nodes of a window that have masks. The slot verifies no
/// further nodes if it has masks.
inline constexpr int64_t kMostMasks = 16;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_LOGITRULES_H
