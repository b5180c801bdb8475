//===- TokenizerConfig.h - tokenizer_config.json ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERCONFIG_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERCONFIG_H

#include "runtime/core/Result.h"
#include "runtime/schema/mtp_tokenizer_generated.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// What tokenizer_config.json says that the tokenizer's own file does not. Its
/// other keys are about chat templates, padding and classes in Python.
struct TokenizerConfig {
  std::optional<std::string> bosToken;
  std::optional<std::string> eosToken;

  /// The tokens that transformers adds to those of the tokenizer's own file, in
  /// its order: `added_tokens_decoder`, then special tokens by their names.
  /// They have no ids yet.
  std::vector<schema::AddedTokenT> decoderTokens, namedTokens;

  /// Whether they go around a text, where the tokenizer class heeds this:
  /// Llama's ones do, and override the template in tokenizer.json.
  std::optional<bool> addBos;
  std::optional<bool> addEos;

  /// Empty text yields an empty config.
  static Result<TokenizerConfig> read(std::string_view json);
};

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERCONFIG_H
