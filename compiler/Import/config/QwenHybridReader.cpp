//===- QwenHybridReader.cpp - qwen3_next, qwen3_5 and qwen3_5_moe ---------===//
//
// Most layers have a recurrence instead of attention.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "runtime/schema/Limits.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr int64_t kMost = int64_t(1) << 31;

/// Defaults of Qwen3-Next's class. Qwen3.5's class has others.
constexpr SparseDefaults kNextExperts = {512, 10, 512, /*isNormalized=*/true};
constexpr SparseDefaults kMoeExperts = {256, 8, 512, /*isNormalized=*/true};
constexpr int64_t kSharedWidth = 512;

constexpr ExpertKeys kQwenKeys = {.shared = "mlp.shared_expert."};

void readAttention(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults) {
  // The bias would apply to the gates, too.
  fields.expectFlag("attention_bias", false);
  fields.expectFlag("attn_output_gate", true);
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", 256);
  gqa.hasQkNorm = gqa.hasOutputGate = true;
  config.gqa = gqa;
  // Positions of images rotate parts of a head separately. For text all parts
  // have equal positions.
  config.rope = readRope(fields, config, gqa.headDim, {.partial = 0.25});
  // GGUF stores the sums of 1 and the weights.
  config.normOffset = fields.integerOr("norm_weight_offset", 0, 1, 1);
}

RecurrenceConfig readRecurrence(ConfigFields &fields) {
  RecurrenceConfig recurrence;
  recurrence.keyHeads = fields.dimensionOr("linear_num_key_heads", 16);
  recurrence.heads = fields.dimensionOr("linear_num_value_heads", 32);
  recurrence.keys = fields.dimensionOr("linear_key_head_dim", 128);
  recurrence.values = fields.dimensionOr("linear_value_head_dim", 128);
  recurrence.window = fields.integerOr("linear_conv_kernel_dim", 2, 64, 4);
  recurrence.hasLinearRates = fields.flagOr("linear_decay_rates", false);
  if (recurrence.heads % recurrence.keyHeads != 0)
    fields.fail("linear_num_key_heads", "a divisor of the " +
                                            std::to_string(recurrence.heads) +
                                            " \"linear_num_value_heads\"");
  return recurrence;
}

/// Reads which layers are recurrent. transformers prefers the list to the
/// interval; here both must agree.
void readBlockTypes(ConfigFields &fields, ModelConfig &config) {
  std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty() && types.size() != config.layers.size()) {
    fields.fail("layer_types", "one type for each of the " +
                                   std::to_string(config.layers.size()) +
                                   " \"num_hidden_layers\"");
    return;
  }
  const char *key = "full_attention_interval";
  int64_t interval = fields.integerOr(key, 1, kMost, 4);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    bool isByInterval = int64_t(i + 1) % interval != 0;
    bool isRecurrent =
        types.empty() ? isByInterval : types[i] == "linear_attention";
    if (!types.empty() && !isRecurrent && types[i] != "full_attention")
      fields.fail("layer_types", "\"full_attention\" or \"linear_attention\"");
    if (fields.has(key) && isRecurrent != isByInterval)
      fields.fail(key, "the distance of the layers of \"full_attention\" in "
                       "\"layer_types\", or no such key");
    config.layers[i].isRecurrent = isRecurrent;
  }
  if (std::ranges::all_of(config.layers, &LayerKind::isRecurrent))
    fields.fail(types.empty() ? key : "layer_types",
                "a layer of \"full_attention\" at least");
  if (std::ranges::any_of(config.layers, &LayerKind::isRecurrent))
    config.recurrence = readRecurrence(fields);
}

/// Reads the shared expert, which Qwen3-MoE does not have.
void readSharedExpert(ConfigFields &fields, ModelConfig &config) {
  if (!config.moe)
    return;
  config.moe->sharedWidth =
      fields.dimensionOr("shared_expert_intermediate_size", kSharedWidth);
  config.moe->hasSharedGate = config.moe->mayBeStacked = true;
  config.moe->keys = kQwenKeys;
}

/// Reads the MTP module. Its layer has attention and otherwise equals the first
/// layer. Without a key the checkpoint decides whether there is a module, as in
/// released checkpoints of Qwen3-Next.
void readModule(ConfigFields &fields, ModelConfig &config) {
  const char *key = fields.has("mtp_num_hidden_layers")
                        ? "mtp_num_hidden_layers"
                        : "num_nextn_predict_layers";
  DrafterConfig &drafter = config.drafter;
  drafter.style = DrafterStyle::Qwen;
  drafter.modules = fields.integerOr(key, 0, kMostModules, 0);
  drafter.key = key;
  // vLLM would share everything except the layer. No checkpoint has several.
  if (drafter.modules > 1)
    fields.fail(key, "0 or 1");
  drafter.isUnsaid = !fields.has(key) && !fields.isNull(key);
  drafter.ownsEmbedding = fields.flagOr("mtp_use_dedicated_embeddings", false);
  // transformers and vLLM hand on the state after the final norm.
  fields.expectFlag("mtp_hidden_states_post_norm", true);
  config.drafterLayer = config.layers.front();
  config.drafterLayer.isRecurrent = false;
}

} // namespace

void readQwen3Next(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  readBlockTypes(fields, config);
  if (config.recurrence)
    config.recurrence->isByKeyHead = true;
  fields.expectFlag("use_sliding_window", false);
  readSparseLayers(fields, config, kNextExperts);
  readSharedExpert(fields, config);
  readModule(fields, config);
}

void readQwen35(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  readBlockTypes(fields, config);
  readModule(fields, config);
}

void readQwen35Moe(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults);
  readBlockTypes(fields, config);
  // The class ignores these keys: each layer has experts, whose weights are
  // divided by their sum.
  if (!fields.isNeutral("mlp_only_layers"))
    fields.fail("mlp_only_layers", "an empty list");
  if (fields.integerOr("decoder_sparse_step", 1, kMost, 1) != 1)
    fields.fail("decoder_sparse_step", "1");
  fields.expectFlag("norm_topk_prob", true);
  readSparseLayers(fields, config, kMoeExperts);
  if (!config.moe)
    fields.fail("num_experts", "at least one expert");
  readSharedExpert(fields, config);
  // The layout of released checkpoints.
  for (LayerKind &layer : config.layers)
    layer.isStacked = true;
  readModule(fields, config);
}

} // namespace mtp::importer
