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

/// Settings of tokenizer_config.json that the tokenizer's own file does not
/// have. Its other keys concern chat templates, padding and Python classes.
struct TokenizerConfig {
  std::optional<std::string> bosToken;
  std::optional<std::string> eosToken;

  /// Tokens that transformers adds to the tokens of the tokenizer's own file,
  /// in its order: `added_tokens_decoder`, then special tokens by their names.
  /// They have no ids yet.
  std::vector<schema::AddedTokenT> decoderTokens, namedTokens;

  /// Whether BOS and EOS are added to a text, if the tokenizer class uses these
  /// keys. Llama's classes do, and override the template in tokenizer.json.
  std::optional<bool> addBos;
  std::optional<bool> addEos;

  /// Reads the config. Empty text gives an empty config.
  static Result<TokenizerConfig> read(std::string_view json);
};

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERCONFIG_H
