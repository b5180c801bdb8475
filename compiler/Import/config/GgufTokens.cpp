//===- GgufTokens.cpp - Tokens and sampling of a GGUF model ---------------===//

#include "compiler/Import/config/GgufTranslation.h"
#include "runtime/schema/Limits.h"

namespace mtp::importer {

namespace {

/// Texts of tokens that end an answer in every model that has them. A file
/// names at most three stop tokens by their ids.
constexpr std::string_view kStops[] = {
    "<|eot_id|>",      "<|eom_id|>",
    "<|im_end|>",      "<|end|>",
    "<end_of_turn>",   "<|endoftext|>",
    "<|end_of_text|>", "<EOT>",
    "[EOT]",           "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "<|return|>",      "<|call|>",
};

/// Types of tokens with a meaning of their own.
constexpr int64_t kControl = 3, kUserDefined = 4;

} // namespace

void translateTokens(GgufTranslation &from) {
  const std::string tokenizer = "tokenizer.ggml.";
  bool isSentencePiece = from.header.text(tokenizer + "model") == "llama";
  std::optional<int64_t> bos = from.integer(tokenizer + "bos_token_id");
  if (!bos && isSentencePiece)
    bos = 1;
  from.config.add("bos_token_id",
                  std::string_view(bos ? std::to_string(*bos) : "null"));
  std::vector<int64_t> stops;
  auto add = [&](std::optional<int64_t> id) {
    if (id && std::ranges::find(stops, *id) == stops.end())
      stops.push_back(*id);
  };
  add(from.integer(tokenizer + "eos_token_id"));
  if (stops.empty() && isSentencePiece)
    add(2);
  add(from.integer(tokenizer + "eot_token_id"));
  add(from.integer(tokenizer + "eom_token_id"));
  const GgufValue *tokens = from.header.find(tokenizer + "tokens");
  const GgufValue *types = from.header.find(tokenizer + "token_type");
  if (!tokens || !types || tokens->size() != types->size() ||
      tokens->size() > kMostIds)
    tokens = types = nullptr;
  auto texts = tokens ? tokens->texts() : std::nullopt;
  auto kinds = types ? types->integers() : std::nullopt;
  for (size_t id = 0; texts && kinds && id < texts->size(); ++id) {
    bool isMarked = (*kinds)[id] == kControl || (*kinds)[id] == kUserDefined;
    if (isMarked && std::ranges::find(kStops, (*texts)[id]) != std::end(kStops))
      add(int64_t(id));
  }
  std::string list;
  for (int64_t id : stops)
    list += (list.empty() ? "" : ", ") + std::to_string(id);
  from.config.add("eos_token_id", std::string_view("[" + list + "]"));
}

void translateSampling(GgufTranslation &from) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      // llama.cpp applies it to the last tokens only.
      {"penalty_repeat", "penalty_repeat"},
  };
  bool hasAny = false;
  for (auto [name, key] : kNames) {
    std::string full = "general.sampling." + std::string(name);
    if (!from.header.find(full))
      continue;
    hasAny = true;
    if (name == "top_k")
      from.config.add(key, from.required(full));
    else
      from.config.add(key, from.number(full).value_or(0));
  }
  if (hasAny)
    from.config.addFlag("do_sample", true);
}

} // namespace mtp::importer
