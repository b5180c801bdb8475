//===- GgufDrafter.cpp - Drafters in GGUF ---------------------------------===//

#include "compiler/Import/config/GgufTranslation.h"

namespace mtp::importer {

namespace {

/// Translates the keys of DFlash and DSpark.
void translateBlock(GgufTranslation &from) {
  // The layers that the taps enter.
  from.addIntegers("aux_hidden_state_layer_ids", from.prefix + "target_layers");
  const GgufTensor *confidence = from.findTensor("conf_proj.weight");
  bool isDSpark = from.header.find(from.prefix + "sample_from_anchor") ||
                  confidence || from.findTensor("markov_w1.weight");
  from.config.add("architectures",
                  std::string_view(isDSpark ? "[\"DSparkDraftModel\"]"
                                            : "[\"DFlashDraftModel\"]"));
  from.config.add("block_size",
                  from.integer(from.prefix + "block_size").value_or(16));
  from.config.add("mask_token_id",
                  from.required("tokenizer.ggml.mask_token_id"));
  if (auto value = from.flag(from.prefix + "sample_from_anchor"))
    from.config.addFlag("sample_from_anchor", *value);
  if (auto value = from.flag(from.prefix + "attention.causal"))
    from.config.addFlag("causal", *value);
  if (confidence)
    from.config.addFlag("confidence_head_with_markov",
                        confidence->shape.back() != from.hidden);
  constexpr std::pair<std::string_view, const char *> kNumbers[] = {
      {"conv_kernel_size", "conv_kernel_size"},
      {"selector_rank", "selector_rank"},
      {"use_swa", "attention.sliding_window"},
      {"final_logit_softcapping", "final_logit_softcapping"},
      {"output_multiplier", "logit_scale"},
      {"input_embedding_scale", "embedding_scale"},
  };
  for (auto [key, name] : kNumbers)
    if (auto value = from.number(from.prefix + name))
      from.config.add(key, *value);
  from.expect(from.prefix + "attention.value_scale", 1);
  from.expect(from.prefix + "hyper_connection.count", 0);
  if (std::string_view act =
          from.header.text(from.prefix + "hidden_activation");
      !act.empty() && act != "silu")
    from.fail(from.prefix + "hidden_activation", "silu");
}

} // namespace

/// Translates what the drafters have beyond a model's keys.
void translateDrafter(GgufTranslation &from) {
  const GgufTensor *map = from.findTensor("d2t");
  if (map)
    from.config.add("draft_vocab_size", map->shape.front());
  // Hugging Face's files have differences.
  from.config.addFlag("d2t_holds_tokens", true);
  if (from.family.architecture == "dflash")
    return translateBlock(from);
  from.addIntegers("eagle_aux_hidden_state_layer_ids",
                   from.prefix + "target_layers");
  from.config.add("target_hidden_size",
                  from.required(from.prefix + "target_hidden_size"));
  for (const char *key : {"norm_before_residual", "norm_before_fc"})
    from.config.addFlag(key, from.flag(from.prefix + key).value_or(false));
}

} // namespace mtp::importer
