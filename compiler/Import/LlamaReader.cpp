//===- LlamaReader.cpp - llama, qwen2, qwen3, qwen3_moe and mimo ----------===//

#include "compiler/Import/ConfigFamilies.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxModules = 16;
constexpr int64_t kMaxWindow = int64_t(1) << 31;

/// `isDerived`: a missing head width is the hidden width over the heads.
void readAttention(ConfigFields &fields, ModelConfig &config, bool isDerived) {
  GqaConfig gqa;
  gqa.kvHeads =
      fields.integerOr("num_key_value_heads", 1, config.heads, config.heads);
  if (fields.has("head_dim") || !isDerived) {
    gqa.headDim = fields.dimension("head_dim");
  } else {
    gqa.headDim = config.hidden / config.heads;
    if (config.hidden % config.heads != 0)
      fields.fail("hidden_size", "a multiple of \"num_attention_heads\"");
  }
  config.gqa = gqa;
  config.rope = readRope(fields, gqa.headDim);
  config.rope.scaleFactor = 1.0;
}

/// transformers' default of `max_window_layers`.
constexpr int64_t kFullLayers = 28;

/// Layers that see a window only. `layer_types` says which; without it all
/// from `max_window_layers` on.
void readWindows(ConfigFields &fields, ModelConfig &config) {
  if (!fields.flagOr("use_sliding_window", false) ||
      !fields.has("sliding_window"))
    return;
  int64_t window = fields.integer("sliding_window", 1, kMaxWindow);
  std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty() && types.size() != config.layers.size()) {
    fields.fail("layer_types", "one type for each of \"num_hidden_layers\"");
    return;
  }
  int64_t first =
      fields.integerOr("max_window_layers", 0, kMaxWindow, kFullLayers);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (!types.empty() && types[i] != "sliding_attention" &&
        types[i] != "full_attention")
      fields.fail("layer_types", "\"full_attention\" or \"sliding_attention\"");
    bool isSliding =
        types.empty() ? int64_t(i) >= first : types[i] == "sliding_attention";
    if (isSliding)
      config.layers[i].window = window;
  }
}

/// qwen3_moe knows no layer types: a window holds for all layers.
void readCommonWindow(ConfigFields &fields, ModelConfig &config) {
  if (!fields.flagOr("use_sliding_window", false) ||
      !fields.has("sliding_window"))
    return;
  int64_t window = fields.integer("sliding_window", 1, kMaxWindow);
  for (LayerKind &layer : config.layers)
    layer.window = window;
}

void readExperts(ConfigFields &fields, ModelConfig &config) {
  MoeConfig moe;
  moe.experts = fields.integer("num_experts", 1, kMaxExperts);
  moe.topK = fields.integer("num_experts_per_tok", 1, moe.experts);
  moe.width = fields.dimension("moe_intermediate_size");
  moe.isNormalized = fields.flagOr("norm_topk_prob", false);
  int64_t every = fields.integerOr("decoder_sparse_step", 1, kMaxWindow, 1);
  std::vector<int64_t> dense =
      fields.integers("mlp_only_layers", 0, kMaxWindow);
  bool hasAny = false;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    bool isDense =
        std::find(dense.begin(), dense.end(), int64_t(i)) != dense.end();
    config.layers[i].isMoe = !isDense && int64_t(i + 1) % every == 0;
    hasAny |= config.layers[i].isMoe;
  }
  if (hasAny)
    config.moe = moe;
}

} // namespace

void readLlama(ConfigFields &fields, ModelConfig &config) {
  readAttention(fields, config, /*isDerived=*/true);
  bool hasBias = fields.flagOr("attention_bias", false);
  config.gqa->hasQkvBias = config.gqa->hasOutputBias = hasBias;
  fields.expectFlag("mlp_bias", false);
}

void readQwen2(ConfigFields &fields, ModelConfig &config) {
  readAttention(fields, config, /*isDerived=*/true);
  fields.expectFlag("use_mrope", false);
  config.gqa->hasQkvBias = true;
  readWindows(fields, config);
}

void readQwen3(ConfigFields &fields, ModelConfig &config) {
  readAttention(fields, config, /*isDerived=*/false);
  bool hasBias = fields.flagOr("attention_bias", false);
  config.gqa->hasQkvBias = config.gqa->hasOutputBias = hasBias;
  config.gqa->hasQkNorm = true;
  if (config.family == "qwen3_moe") {
    readExperts(fields, config);
    readCommonWindow(fields, config);
  } else {
    readWindows(fields, config);
  }
}

void readMiMo(ConfigFields &fields, ModelConfig &config) {
  readAttention(fields, config, /*isDerived=*/true);
  fields.expectFlag("use_mrope", false);
  fields.expectFlag("use_sliding_window", false);
  config.gqa->hasQkvBias = fields.flagOr("attention_bias", true);
  config.drafter = {
      DrafterStyle::MiMo,
      fields.integerOr("num_nextn_predict_layers", 0, kMaxModules, 0)};
}

} // namespace mtp::importer
