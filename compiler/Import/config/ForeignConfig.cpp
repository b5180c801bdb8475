//===- ForeignConfig.cpp - Refusal of unsupported configs -----------------===//

#include "compiler/Import/config/ForeignConfig.h"

#include "compiler/Import/config/MetaConfig.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace mtp::importer {

namespace {

/// A text or key, and what it indicates.
struct Sign {
  std::string_view text, method;
};

/// Parts of the names in "architectures", "model_type" and
/// "speculators_model_type". More specific parts come first.
constexpr Sign kNames[] = {
    {"peagle", "a P-EAGLE drafter"},
    {"eagle3", "an EAGLE-3 drafter"},
    {"eagle", "an EAGLE drafter"},
    {"medusa", "Medusa heads"},
    {"mlpspeculator", "an MLP speculator"},
    {"mlp_speculator", "an MLP speculator"},
    {"dflash", "a DFlash drafter"},
    {"dspark", "a DSpark drafter"},
    {"lilicorrdraft", "a LiLiCorr drafter"},
    {"dominodraft", "a Domino drafter"},
    {"speculator", "a drafter of the speculators library"},
    {"mtpmodel", "an MTP module alone"},
    {"_mtp", "an MTP module alone"},
    {"gemma4_assistant", "a Gemma 4 assistant"},
};

/// Keys that only drafters' configs have.
constexpr Sign kKeys[] = {
    {"speculators_model_type", "a drafter of the speculators library"},
    {"speculators_config", "a drafter of the speculators library"},
    {"dflash_config", "a DFlash drafter"},
    {"dspark_target_layer_ids", "a DSpark drafter"},
    {"markov_rank", "a DSpark drafter"},
    {"medusa_num_heads", "Medusa heads"},
    {"medusa_num_layers", "Medusa heads"},
    {"pard_token", "a PARD drafter"},
    {"ptd_token_id", "a P-EAGLE drafter"},
    {"eagle_config", "an EAGLE-3 drafter"},
    {"eagle_aux_hidden_state_layer_ids", "an EAGLE-3 drafter"},
    {"norm_before_residual", "an EAGLE-3 drafter"},
    {"draft_vocab_size", "an EAGLE-3 drafter"},
    {"target_hidden_size", "an EAGLE-3 drafter"},
    {"target_layer_ids", "a drafter that reads its target's layers"},
    {"num_target_layers", "a drafter that reads its target's layers"},
    {"truncated_vocab_size", "a drafter of fewer tokens than its target"},
};

/// Weights that only drafters have.
constexpr Sign kWeights[] = {
    {"midlayer.self_attn.q_proj.weight", "an EAGLE-3 drafter"},
    {"d2t", "a drafter of fewer tokens than its target"},
    {"markov_head.markov_w1.weight", "a DSpark drafter"},
    {"hidden_norm.weight", "a DFlash drafter"},
    {"fc.weight", "an EAGLE drafter"},
    {"0.0.linear.weight", "Medusa heads"},
    {"medusa_head.0.0.linear.weight", "Medusa heads"},
    {kHeadMark, "heads of a layer each"},
};

/// Key of a drafter's layer. Models that were saved without their class's
/// prefix have this key, too.
constexpr Sign kBareLayer = {"layers.0.self_attn.q_proj.weight",
                             "a drafter of one layer"};

constexpr const char *kInstead =
    "import the model that it drafts for, with --drafter and this folder";

std::string lower(std::string text) {
  for (char &c : text)
    c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return text;
}

void failAsDrafter(ConfigFields &fields, std::string_view key,
                   std::string_view method) {
  fields.failAs(key, unimplemented("expected a model, got " +
                                   std::string(method) + "; " + kInstead));
}

/// A key that changes results, and the number that changes nothing.
struct ForeignKey {
  std::string_view name;
  double neutral;
};

/// Scales and bounds of Granite, MiniCPM, Cohere, OLMo and Gemma. 0 is neutral
/// for a bound, because it means no bound.
constexpr ForeignKey kForeignNumbers[] = {
    {"attention_multiplier", 0},
    {"embedding_multiplier", 1},
    {"residual_multiplier", 1},
    {"logits_scaling", 1},
    {"logit_scale", 1},
    {"scale_emb", 1},
    {"scale_depth", 0},
    {"dim_model_base", 0},
    {"clip_qkv", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"query_pre_attn_scalar", 0},
    {"logits_soft_cap", 0},
};

/// Flags of other features of a family's code.
constexpr std::string_view kForeignFlags[] = {
    "use_parallel_residual", "parallel_attn", "chain_hidden_post_norm",
    "mtp_hidden_states_first", "alibi"};

/// Keys that show what an unknown family needs. null, false, 0 or an empty list
/// asks for nothing.
constexpr Sign kLacks[] = {
    {"linear_num_value_heads", "recurrent layers"},
    {"linear_attn_config", "recurrent layers"},
    {"mamba_d_state", "recurrent layers"},
    {"mamba_num_heads", "recurrent layers"},
    {"ssm_state_size", "recurrent layers"},
    {"conv_L_cache", "convolution layers"},
    {"index_topk", "indexer that selects positions"},
    {"attn_logit_softcapping", "bounded attention scores"},
    {"final_logit_softcapping", "bounded logits"},
    {"no_rope_layers", "layers without rotary positions"},
    {"attention_chunk_size", "attention in chunks"},
    {"embedding_multiplier", "scaled embeddings"},
    {"residual_multiplier", "scaled residuals"},
    {"scale_emb", "scaled embeddings"},
    {"logit_scale", "scaled logits"},
    {"query_pre_attn_scalar", "attention scale of its own"},
    {"clip_qkv", "clipped queries, keys and values"},
    {"use_parallel_residual", "parallel attention and feed-forward"},
    {"zero_expert_num", "experts that compute nothing"},
    {"swiglu_limit", "bound in the feed-forward product"},
    {"hc_mult", "several residual streams"},
    {"vision_config", "images"},
    {"audio_config", "sound"},
    {"is_encoder_decoder", "encoder"},
    {"mlp_bias", "biases in the feed-forward part"},
};

/// Returns true if a key asks for something.
bool asks(const ConfigFields &fields, std::string_view key) {
  return fields.has(key) && !fields.isNeutral(key);
}

/// Returns the nearest family by distinctive keys; the first key found decides.
std::string nearestFamily(const ConfigFields &fields, std::string_view name) {
  if (asks(fields, "kv_lora_rank"))
    return name.starts_with("glm") ? "glm4_moe_lite" : "deepseek_v3";
  bool hasExperts = asks(fields, "n_routed_experts") ||
                    asks(fields, "num_experts") ||
                    asks(fields, "num_local_experts");
  if (hasExperts && (fields.has("routed_scaling_factor") ||
                     fields.has("first_k_dense_replace")))
    return "glm4_moe";
  if (hasExperts)
    return "qwen3_moe";
  if (name.starts_with("gemma"))
    return "gemma3_text";
  for (std::string_view family : {"mistral", "mimo", "qwen2", "qwen3"})
    if (name.starts_with(family))
      return std::string(family);
  if (name.starts_with("qwen") || asks(fields, "use_qk_norm"))
    return "qwen3";
  return asks(fields, "attention_bias") ? "qwen2" : "llama";
}

void note(std::vector<std::string> &lacks, const std::string &text) {
  if (std::find(lacks.begin(), lacks.end(), text) == lacks.end())
    lacks.push_back(text);
}

} // namespace

void refuseDrafter(ConfigFields &fields) {
  std::vector<std::string> named = fields.texts("architectures");
  auto check = [&](const char *key, const std::string &name) {
    for (const Sign &sign : kNames)
      if (lower(name).find(sign.text) != std::string::npos)
        return failAsDrafter(fields, key, sign.method);
  };
  for (const char *key : {"speculators_model_type", "model_type"})
    check(key, fields.textOr(key, ""));
  for (const std::string &name : named)
    check("architectures", name);
  for (const Sign &sign : kKeys)
    if (fields.has(sign.text))
      failAsDrafter(fields, sign.text, sign.method);
}

Status refuseDrafterWeights(const WeightTable &weights,
                            const ModelConfig &config) {
  if (weights.contains(layerPrefix(config, 0) +
                       config.named("post_attention_layernorm.weight")))
    return okStatus();
  auto check = [&](const Sign &sign) -> Status {
    if (!weights.contains(std::string(sign.text)))
      return okStatus();
    return unimplemented("expected the weights of a model, got \"" +
                         std::string(sign.text) + "\" of " +
                         std::string(sign.method) + "; " + kInstead);
  };
  for (const Sign &sign : kWeights)
    MTP_RETURN_IF_ERROR(check(sign));
  return check(kBareLayer);
}

bool hasDrafterWeights(const std::function<bool(const std::string &)> &has) {
  return std::ranges::any_of(
      kWeights, [&](const Sign &sign) { return has(std::string(sign.text)); });
}

void refuseForeignKeys(ConfigFields &fields, std::string_view ownKey) {
  for (const ForeignKey &key : kForeignNumbers)
    if (key.name != ownKey && asks(fields, key.name) &&
        fields.numberOr(key.name, key.neutral) != key.neutral)
      fields.fail(key.name, "no such key in this family");
  for (std::string_view key : kForeignFlags)
    fields.expectFlag(key, false);
}

std::string describeNearest(ConfigFields &fields, std::string_view name) {
  if (std::optional<ConfigFields> inner = fields.child("text_config"))
    return "its \"text_config\" is of \"" + inner->textOr("model_type", "") +
           "\"; a model within another one is not read";
  std::vector<std::string> lacks;
  for (const Sign &sign : kLacks)
    if (asks(fields, sign.text))
      note(lacks,
           std::string(sign.method) + " (\"" + std::string(sign.text) + "\")");
  std::string text = "nearest is \"" + nearestFamily(fields, name) + "\"";
  for (size_t i = 0; i < lacks.size(); ++i)
    text += (i == 0 ? ", which has no " : ", no ") + lacks[i];
  return text;
}

} // namespace mtp::importer
