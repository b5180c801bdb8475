//===- PromptWords.h - How the host describes a chunk -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_PROMPTWORDS_H
#define MTP_RUNTIME_SCHEMA_PROMPTWORDS_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// The rows of the state "prompt_sequences": what a prefill knows of each of
/// its sequences.
enum PromptWord : uint32_t {
  kPromptSlot,
  /// Its first row of the chunk, and how many it has.
  kPromptFirstRow,
  kPromptRows,
  /// The position of the first row.
  kPromptStart,
  /// Tokens of the whole prompt.
  kPromptTotal,
  kPromptWords
};

/// What stands before the names of outputs of prompts beside a round.
inline constexpr std::string_view kPromptOutputs = "prompt_";

/// The most places ahead that a prefill may read tokens.
inline constexpr uint32_t kMostPlacesAhead = 64;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_PROMPTWORDS_H
