//===- GgufConfig.cpp - The config of a GGUF file -------------------------===//

#include "compiler/Import/config/GgufConfig.h"

#include "compiler/Import/config/GgufTranslation.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <cmath>

namespace mtp::importer {

namespace {

/// Returns what the files contain.
Result<GgufContent> describe(GgufTranslation &from) {
  GgufContent content;
  content.architecture = from.family.architecture;
  content.isDrafter = from.family.isDrafter;
  content.modules =
      from.integer(from.prefix + "nextn_predict_layers").value_or(0);
  int64_t blocks = from.required(from.prefix + "block_count");
  if (content.modules < 0 || content.modules >= std::max<int64_t>(blocks, 1))
    from.fail(from.prefix + "nextn_predict_layers",
              "a number below the one of blocks");
  MTP_RETURN_IF_ERROR(from.failure);
  content.hasLayers = from.findIn(0, "attn_norm.weight") != nullptr;
  int64_t first = blocks - content.modules;
  while (content.stored < content.modules &&
         from.findIn(first + content.stored, "nextn.eh_proj.weight"))
    ++content.stored;
  return content;
}

/// Translates the number of MTP modules. The number of blocks includes them.
/// A module without weights in the file does not count.
void translateModules(GgufTranslation &from) {
  Result<GgufContent> content = describe(from);
  if (!content) {
    from.failure = content.status();
    return;
  }
  from.layers = from.required(from.prefix + "block_count") - content->modules;
  if (from.isHybrid())
    from.config.add("mtp_num_hidden_layers", content->stored);
  else if (from.is({"deepseek_v3", "glm4_moe", "hy_v3"}))
    from.config.add("num_nextn_predict_layers", content->stored);
  else if (content->modules != 0)
    from.fail(from.prefix + "nextn_predict_layers", "0 in this family");
}

void translateSizes(GgufTranslation &from) {
  translateModules(from);
  from.hidden = from.required(from.prefix + "embedding_length");
  from.config.addText("model_type", from.type);
  from.config.add("num_hidden_layers", from.layers);
  from.config.add("hidden_size", from.hidden);
  from.config.add("max_position_embeddings",
                  from.required(from.prefix + "context_length"));
  if (std::optional<int64_t> width =
          from.integer(from.prefix + "feed_forward_length"))
    from.config.add("intermediate_size", *width);
  if (std::optional<double> eps =
          from.number(from.prefix + "attention.layer_norm_rms_epsilon"))
    from.config.add("rms_norm_eps", *eps);
  else
    from.fail(from.prefix + "attention.layer_norm_rms_epsilon", "a number");
  const GgufTensor *table = from.findTensor("token_embd.weight");
  const GgufValue *tokens = from.header.find("tokenizer.ggml.tokens");
  int64_t vocab = from.integer(from.prefix + "vocab_size")
                      .value_or(tokens ? tokens->size() : 1);
  // The table may have more rows than there are tokens.
  from.config.add("vocab_size", table ? table->shape.front() : vocab);
  from.config.addFlag("tie_word_embeddings",
                      from.findTensor("output.weight") == nullptr);
  std::string_view stored = "float16";
  if (!table || table->type == WeightType::F32)
    stored = "float32";
  else if (table->type == WeightType::BF16)
    stored = "bfloat16";
  from.config.addText("torch_dtype", stored);
}

/// Translates latent attention. Newer files give the widths of the absorbed
/// form in the usual keys, and the widths of heads in keys of their own.
void translateLatent(GgufTranslation &from) {
  const std::string attention = from.prefix + "attention.";
  int64_t rope = from.required(from.prefix + "rope.dimension_count");
  auto width = [&](const char *name) {
    std::string own = attention + name + "_mla";
    return from.required(from.header.find(own) ? own : attention + name);
  };
  from.headDim = width("key_length");
  if (rope < 1 || rope >= from.headDim)
    from.fail(from.prefix + "rope.dimension_count",
              "less than the width of a head");
  from.config.add("num_key_value_heads", from.heads);
  if (std::optional<int64_t> rank = from.integer(attention + "q_lora_rank"))
    from.config.add("q_lora_rank", *rank);
  else
    from.config.add("q_lora_rank", std::string_view("null"));
  from.config.add("kv_lora_rank", from.required(attention + "kv_lora_rank"));
  from.config.add("qk_nope_head_dim", from.headDim - rope);
  from.config.add("qk_rope_head_dim", rope);
  from.config.add("v_head_dim", width("value_length"));
  from.headDim = rope;
}

void translateBiases(GgufTranslation &from) {
  bool hasBias =
      from.findIn(0, "attn_q.bias") || from.findIn(0, "attn_qkv.bias");
  bool hasOutputBias = from.findIn(0, "attn_output.bias") != nullptr;
  if (from.type == "seed_oss") {
    from.config.addFlag("attention_bias", hasBias);
    from.config.addFlag("attention_out_bias", hasOutputBias);
  } else if (from.type.starts_with("ernie")) {
    from.config.addFlag("use_bias", hasBias || hasOutputBias);
  } else if (from.type != "qwen2" && (hasBias || hasOutputBias)) {
    // Qwen 2 has biases by its definition.
    from.config.addFlag("attention_bias", true);
  }
}

/// Translates a boolean for each layer: `type` for true, else full attention.
void addLayerTypes(GgufTranslation &from, const std::string &key,
                   const std::string &type) {
  auto flags = from.header.find(key)->flags();
  if (!flags || int64_t(flags->size()) < from.layers)
    return from.fail(key, "a boolean for each layer");
  std::string types;
  for (int64_t i = 0; i < std::min(from.layers, int64_t(kMostLayers)); ++i)
    types += std::string(i ? ", " : "") +
             ((*flags)[size_t(i)] ? type : "\"full_attention\"");
  from.config.add("layer_types", std::string_view("[" + types + "]"));
}

/// Translates the windows, scales and norms of Gemma 3. llama.cpp computes the
/// factor of embeddings in f32, and has the scale of the largest model as a
/// constant.
void translateGemma(GgufTranslation &from) {
  constexpr int64_t kLayersOf27B = 62;
  from.config.add("sliding_window",
                  from.required(from.prefix + "attention.sliding_window"));
  const std::string pattern = from.prefix + "attention.sliding_window_pattern";
  const GgufValue *value = from.header.find(pattern);
  if (value && value->isArray())
    addLayerTypes(from, pattern, "\"sliding_attention\"");
  else
    from.config.add("sliding_window_pattern",
                    from.integer(pattern).value_or(6));
  from.config.add(
      "rope_local_base_freq",
      from.number(from.prefix + "rope.freq_base_swa").value_or(10000.0));
  bool isLargest = from.layers == kLayersOf27B && from.heads > 0;
  from.config.add("query_pre_attn_scalar",
                  isLargest ? from.hidden / from.heads : from.headDim);
  from.config.add("norm_weight_offset", int64_t(0));
  from.config.add("embedding_scale",
                  double(std::sqrt(float(std::max<int64_t>(from.hidden, 1)))));
  if (std::optional<double> bound =
          from.number(from.prefix + "final_logit_softcapping"))
    from.config.add("final_logit_softcapping", *bound);
}

void translateAttention(GgufTranslation &from) {
  from.heads = from.required(from.prefix + "attention.head_count");
  from.config.add("num_attention_heads", from.heads);
  if (from.is({"deepseek_v3", "youtu"}))
    return translateLatent(from);
  from.config.add("num_key_value_heads",
                  from.integer(from.prefix + "attention.head_count_kv")
                      .value_or(from.heads));
  from.headDim = from.integer(from.prefix + "attention.key_length")
                     .value_or(from.heads > 0 ? from.hidden / from.heads : 0);
  if (from.integer(from.prefix + "attention.value_length")
          .value_or(from.headDim) != from.headDim)
    from.fail(from.prefix + "attention.value_length",
              std::to_string(from.headDim));
  from.config.add("head_dim", from.headDim);
  translateBiases(from);
  if (from.type == "glm4_moe")
    from.config.addFlag("use_qk_norm",
                        from.findIn(0, "attn_q_norm.weight") != nullptr);
  if (from.type == "gemma3_text")
    return translateGemma(from);
  // llama.cpp runs these families without windows and ignores the key.
  const std::string window = from.prefix + "attention.sliding_window";
  if (from.integer(window).value_or(0) != 0)
    from.fail(window, "no window in this family");
  if (from.is({"dots1", "ministral3", "mistral"}))
    from.config.add("sliding_window", std::string_view("null"));
}

/// Translates which layers are recurrent.
void translateBlockTypes(GgufTranslation &from) {
  const std::string key = from.prefix + "attention.recurrent_layers";
  if (!from.header.find(key)) {
    from.config.add(
        "full_attention_interval",
        from.integer(from.prefix + "full_attention_interval").value_or(4));
    return;
  }
  addLayerTypes(from, key, "\"linear_attention\"");
}

void translateRecurrence(GgufTranslation &from) {
  int64_t valueHeads = from.required(from.prefix + "ssm.time_step_rank");
  from.config.add("linear_num_key_heads",
                  from.required(from.prefix + "ssm.group_count"));
  from.config.add("linear_num_value_heads", valueHeads);
  from.config.add("linear_key_head_dim",
                  from.required(from.prefix + "ssm.state_size"));
  from.config.add("linear_value_head_dim",
                  from.required(from.prefix + "ssm.inner_size") /
                      std::max<int64_t>(valueHeads, 1));
  from.config.add("linear_conv_kernel_dim",
                  from.required(from.prefix + "ssm.conv_kernel"));
  // The converter stores 1 + w for the norms, and -exp(A_log).
  from.config.add("norm_weight_offset", int64_t(0));
  from.config.addFlag("linear_decay_rates", true);
  translateBlockTypes(from);
}

} // namespace

Result<std::string> translateGgufConfig(std::span<const GgufPart> parts) {
  MTP_ASSIGN_OR_RETURN(GgufFamily family, findGgufFamily(parts.front().header));
  GgufTranslation from(parts, family);
  // A model of this architecture without experts is of another family.
  if (from.type == "deepseek_v3" &&
      from.integer(from.prefix + "expert_count").value_or(0) == 0)
    from.type = "youtu";
  // A model whose queries are not scaled by position is of another family.
  if (from.type == "ministral3" &&
      !from.header.find(from.prefix + "attention.temperature_scale"))
    from.type = "mistral";
  translateSizes(from);
  translateAttention(from);
  translateExperts(from);
  if (from.isHybrid())
    translateRecurrence(from);
  translateRope(from);
  translateTokens(from);
  translateSampling(from);
  if (from.family.isDrafter)
    translateDrafter(from);
  MTP_RETURN_IF_ERROR(from.failure);
  return from.config.finish();
}

Result<GgufContent> describeGguf(std::span<const GgufPart> parts) {
  MTP_ASSIGN_OR_RETURN(GgufFamily family, findGgufFamily(parts.front().header));
  GgufTranslation from(parts, family);
  return describe(from);
}

} // namespace mtp::importer
