//===- TokenizerConfig.cpp - tokenizer_config.json ------------------------===//

#include "compiler/Tokenizer/TokenizerConfig.h"

#include "compiler/Tokenizer/Json.h"

using namespace mtp;

namespace {

/// Reads a token: its text, or an object with the text as "content".
Result<std::optional<std::string>> readToken(const JsonValue &root,
                                             std::string_view key) {
  std::optional<JsonValue> value = root.find(key);
  if (!value)
    return std::optional<std::string>();
  if (value->isObject()) {
    // An AddedToken as an object.
    MTP_ASSIGN_OR_RETURN(value, value->member("content"));
  }
  MTP_ASSIGN_OR_RETURN(std::string_view text, value->asString());
  return std::optional<std::string>(text);
}

Result<std::optional<bool>> readFlag(const JsonValue &root,
                                     std::string_view key) {
  std::optional<JsonValue> value = root.find(key);
  if (!value)
    return std::optional<bool>();
  MTP_ASSIGN_OR_RETURN(bool flag, value->asBool());
  return std::optional<bool>(flag);
}

} // namespace

Result<TokenizerConfig> TokenizerConfig::read(std::string_view json) {
  TokenizerConfig config;
  if (json.empty())
    return config;
  MTP_ASSIGN_OR_RETURN(JsonDocument document,
                       JsonDocument::parse("tokenizer_config.json", json));
  JsonValue root = document.root();
  MTP_ASSIGN_OR_RETURN(config.bosToken, readToken(root, "bos_token"));
  MTP_ASSIGN_OR_RETURN(config.eosToken, readToken(root, "eos_token"));
  MTP_ASSIGN_OR_RETURN(std::string_view className,
                       root.stringOr("tokenizer_class", ""));
  if (className.substr(0, 14) == "LlamaTokenizer") {
    MTP_ASSIGN_OR_RETURN(config.addBos, readFlag(root, "add_bos_token"));
    MTP_ASSIGN_OR_RETURN(config.addEos, readFlag(root, "add_eos_token"));
  }
  return config;
}
