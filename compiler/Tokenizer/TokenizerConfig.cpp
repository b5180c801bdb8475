//===- TokenizerConfig.cpp - tokenizer_config.json ------------------------===//

#include "compiler/Tokenizer/TokenizerConfig.h"

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "compiler/Tokenizer/Json.h"

#include <charconv>
#include <map>

using namespace mtp;

namespace {

/// Reads a token: its text, or an object with the text as "content".
Result<std::optional<std::string>> readToken(const JsonValue &root,
                                             std::string_view key) {
  std::optional<JsonValue> value = root.find(key);
  if (!value)
    return std::optional<std::string>();
  if (value->isObject()) {
    // A serialised AddedToken.
    MTP_ASSIGN_OR_RETURN(value, value->member("content"));
  }
  MTP_ASSIGN_OR_RETURN(std::string_view text, value->asString());
  // An empty text names no token.
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

Result<std::optional<bool>> readFlag(const JsonValue &root,
                                     std::string_view key) {
  std::optional<JsonValue> value = root.find(key);
  if (!value)
    return std::optional<bool>();
  MTP_ASSIGN_OR_RETURN(bool flag, value->asBool());
  return std::optional<bool>(flag);
}

/// Names of the special tokens, in transformers' order.
constexpr const char *kNames[] = {"bos_token", "eos_token", "unk_token",
                                  "sep_token", "pad_token", "cls_token",
                                  "mask_token"};

/// Adds a special token: a text, or an object.
Status addNamed(const JsonValue &value,
                std::vector<schema::AddedTokenT> &tokens) {
  schema::AddedTokenT token;
  Status status = okStatus();
  if (value.isObject()) {
    status = readAddedTokenFields(value, token);
  } else {
    // Braces, because the macro expands to several statements.
    MTP_ASSIGN_OR_RETURN(token.content, value.asString());
  }
  MTP_RETURN_IF_ERROR(status);
  token.special = true;
  tokens.push_back(std::move(token));
  return okStatus();
}

/// Adds further special tokens: a list, or an object with names.
Status addMoreNamed(const JsonValue &value,
                    std::vector<schema::AddedTokenT> &tokens) {
  if (value.isObject()) {
    MTP_ASSIGN_OR_RETURN(auto members, value.asObject());
    for (const auto &[name, token] : members)
      MTP_RETURN_IF_ERROR(addNamed(token, tokens));
    return okStatus();
  }
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> items, value.asArray());
  for (const JsonValue &item : items)
    MTP_RETURN_IF_ERROR(addNamed(item, tokens));
  return okStatus();
}

Status readNamedTokens(const JsonValue &root,
                       std::vector<schema::AddedTokenT> &tokens) {
  for (const char *name : kNames)
    if (std::optional<JsonValue> value = root.find(name))
      MTP_RETURN_IF_ERROR(addNamed(*value, tokens));
  for (const char *name : {"additional_special_tokens", "extra_special_tokens"})
    if (std::optional<JsonValue> value = root.find(name))
      MTP_RETURN_IF_ERROR(addMoreNamed(*value, tokens));
  return okStatus();
}

/// Adds the tokens of an object whose keys are ids, in the order of the ids.
Status readDecoderTokens(const JsonValue &root,
                         std::vector<schema::AddedTokenT> &tokens) {
  std::optional<JsonValue> value = root.find("added_tokens_decoder");
  if (!value)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(auto members, value->asObject());
  std::map<uint32_t, schema::AddedTokenT> byId;
  for (const auto &[key, item] : members) {
    uint32_t id = 0;
    auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size())
      return item.expected("an id as the key");
    MTP_RETURN_IF_ERROR(readAddedTokenFields(item, byId[id]));
  }
  for (auto &[id, token] : byId)
    tokens.push_back(std::move(token));
  return okStatus();
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
  MTP_RETURN_IF_ERROR(readDecoderTokens(root, config.decoderTokens));
  MTP_RETURN_IF_ERROR(readNamedTokens(root, config.namedTokens));
  MTP_ASSIGN_OR_RETURN(std::string_view className,
                       root.stringOr("tokenizer_class", ""));
  if (className.substr(0, 14) == "LlamaTokenizer") {
    MTP_ASSIGN_OR_RETURN(config.addBos, readFlag(root, "add_bos_token"));
    MTP_ASSIGN_OR_RETURN(config.addEos, readFlag(root, "add_eos_token"));
  }
  return config;
}
