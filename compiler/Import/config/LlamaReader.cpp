//===- LlamaReader.cpp - llama and similar families -----------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "runtime/schema/Limits.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kMaxWindow = int64_t(1) << 31;

/// Reads attention. `headDim` is the family's default. 0: the hidden width
/// divided by the number of heads, rounded down as in transformers.
void readAttention(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults, int64_t headDim = 0) {
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr(
      "head_dim", headDim > 0 ? headDim : config.hidden / config.heads);
  config.gqa = gqa;
  config.rope = readRope(fields, config, gqa.headDim, {});
}

/// Reads the window of a family that uses it only if `use_sliding_window` is
/// true.
int64_t readOptionalWindow(ConfigFields &fields) {
  return fields.flagOr("use_sliding_window", false) ? readWindow(fields) : 0;
}

/// transformers' default of `max_window_layers`.
constexpr int64_t kFullLayers = 28;

/// Reads the layers that have a window.
void readWindows(ConfigFields &fields, ModelConfig &config) {
  readWindowedLayers(fields, config, readOptionalWindow(fields), kFullLayers);
}

/// Sets one window for all layers.
void setCommonWindow(ModelConfig &config, int64_t window) {
  for (LayerKind &layer : config.layers)
    layer.window = window;
}

} // namespace

void readSparseLayers(ConfigFields &fields, ModelConfig &config,
                      const SparseDefaults &defaults) {
  MoeConfig moe;
  // transformers 5 writes the first name, which has precedence over the other.
  const char *experts =
      fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
  moe.experts = fields.integerOr(experts, 0, kMostExperts, defaults.experts);
  if (moe.experts == 0)
    return;
  moe.topK =
      fields.integerOr("num_experts_per_tok", 1, moe.experts, defaults.topK);
  moe.width = fields.dimensionOr("moe_intermediate_size", defaults.width);
  moe.isNormalized = fields.flagOr("norm_topk_prob", defaults.isNormalized);
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

namespace {

/// Returns the number of positions whose queries are not scaled by position.
/// The scale is 1 + beta * ln(1 + floor(position / original)). 0: all
/// positions.
int64_t readPlainPositions(ConfigFields &fields, const ModelConfig &config) {
  std::optional<ConfigFields> scaling = fields.child("rope_scaling");
  if (!scaling || scaling->isEmpty())
    scaling = fields.child("rope_parameters");
  if (!scaling)
    return 0;
  int64_t positions = 0;
  if (!scaling->has("llama_4_scaling_beta"))
    scaling->fail("llama_4_scaling_beta", "a number");
  else if (scaling->numberOr("llama_4_scaling_beta", 0.0) != 0.0)
    positions = config.rope.originalMaxPosition > 0
                    ? config.rope.originalMaxPosition
                    : scaling->integer("original_max_position_embeddings", 1,
                                       kMaxWindow);
  fields.adopt(*scaling);
  return positions;
}

/// Reads `attention_bias`, which also adds a bias to the output.
void readBias(ConfigFields &fields, ModelConfig &config) {
  bool hasBias = fields.flagOr("attention_bias", false);
  config.gqa->hasQkvBias = config.gqa->hasOutputBias = hasBias;
}

} // namespace

int64_t readWindow(ConfigFields &fields) {
  constexpr int64_t kDefaultWindow = 4096;
  if (fields.isNull("sliding_window"))
    return 0;
  return fields.integerOr("sliding_window", 1, kMaxWindow, kDefaultWindow);
}

void readWindowedLayers(ConfigFields &fields, ModelConfig &config,
                        int64_t window, int64_t absentFirst) {
  std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty() && types.size() != config.layers.size()) {
    fields.fail("layer_types", "one type for each of \"num_hidden_layers\"");
    return;
  }
  int64_t first =
      fields.integerOr("max_window_layers", 0, kMaxWindow, absentFirst);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (!types.empty() && types[i] != "sliding_attention" &&
        types[i] != "full_attention")
      fields.fail("layer_types", "\"full_attention\" or \"sliding_attention\"");
    bool isSliding =
        types.empty() ? int64_t(i) >= first : types[i] == "sliding_attention";
    if (!isSliding)
      continue;
    if (window == 0 && !types.empty())
      fields.fail("layer_types", "\"full_attention\" in every place where "
                                 "\"use_sliding_window\" is not true or "
                                 "\"sliding_window\" is null");
    config.layers[i].window = window;
  }
}

int64_t readKvHeads(ConfigFields &fields, const ModelConfig &config,
                    int64_t absent) {
  const char *key = "num_key_value_heads";
  if (fields.isNull(key) || absent == 0)
    absent = config.heads;
  return fields.integerOr(key, 1, config.heads, absent);
}

void readLlama(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  if (!fields.has("head_dim") && config.hidden % config.heads != 0)
    fields.fail("hidden_size", "a multiple of \"num_attention_heads\"");
  readBias(fields, config);
  fields.expectFlag("mlp_bias", false);
}

void readMistral(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  setCommonWindow(config, readWindow(fields));
}

void readMinistral3(ConfigFields &fields, ModelConfig &config,
                    const FamilyDefaults &defaults) {
  // Without either key the class scales as its first model does.
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling"))
    fields.fail("rope_parameters", "the rotary parameters");
  readAttention(fields, config, defaults, /*headDim=*/128);
  config.plainPositions = readPlainPositions(fields, config);
  if (fields.has("sliding_window"))
    setCommonWindow(config, readWindow(fields));
}

void readSeedOss(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults, fields.isNull("head_dim") ? 0 : 128);
  config.gqa->hasQkvBias = fields.flagOr("attention_bias", true);
  config.gqa->hasOutputBias = fields.flagOr("attention_out_bias", false);
  fields.expectFlag("mlp_bias", false);
}

void readQwen2(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  fields.expectFlag("use_mrope", false);
  config.gqa->hasQkvBias = true;
  readWindows(fields, config);
}

void readQwen3(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults, /*headDim=*/128);
  readBias(fields, config);
  config.gqa->hasQkNorm = true;
  readWindows(fields, config);
}

void readQwen3Moe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  readBias(fields, config);
  config.gqa->hasQkNorm = true;
  readSparseLayers(fields, config, {128, 8, 768, /*isNormalized=*/false});
  setCommonWindow(config, readOptionalWindow(fields));
}

void readMiMo(ConfigFields &fields, ModelConfig &config,
              const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  fields.expectFlag("use_mrope", false);
  fields.expectFlag("use_sliding_window", false);
  config.gqa->hasQkvBias = fields.flagOr("attention_bias", true);
  // MiMo's own code hands on the state after the norm.
  fields.expectFlag("mtp_hidden_states_post_norm", true);
  config.drafter = {
      DrafterStyle::MiMo,
      fields.integerOr("num_nextn_predict_layers", 0, kMostModules, 0)};
}

} // namespace mtp::importer
