//===- PromptLayout.h - The host's description of a chunk -------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_PROMPTLAYOUT_H
#define MTP_RUNTIME_SCHEMA_PROMPTLAYOUT_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// Rows of the state "prompt_sequences": the description of each sequence of a
/// prefill.
enum PromptWord : uint32_t {
  kPromptSlot,
  /// The sequence's first row in the chunk, and its number of rows.
  kPromptFirstRow,
  kPromptRows,
  /// Position of the first row.
  kPromptStart,
  /// Number of tokens of the whole prompt.
  kPromptTotal,
  kPromptWords
};

/// Prefix of the names of outputs for the prompts of a mixed batch.
inline constexpr std::string_view kPromptOutputs = "prompt_";

/// Maximum number of positions ahead that a prefill may read tokens.
inline constexpr uint32_t kMostPlacesAhead = 64;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_PROMPTLAYOUT_H
