//===- ErnieReader.cpp - ernie4_5 and ernie4_5_moe ------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "runtime/schema/Limits.h"

namespace mtp::importer {

namespace {

constexpr ExpertKeys kErnieKeys = {
    .bias = "mlp.moe_statics.e_score_correction_bias"};

/// Reads attention. Both families rotate neighbours. `headDim` 0: the class has
/// no such key.
void readAttention(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults, int64_t headDim) {
  // The bias would apply to the feed-forward part, too.
  fields.expectFlag("use_bias", false);
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  int64_t even = config.hidden / config.heads;
  gqa.headDim = fields.dimensionOr(
      "head_dim", headDim > 0 && !fields.isNull("head_dim") ? headDim : even);
  config.gqa = gqa;
  config.rope = readRope(fields, config, gqa.headDim, {.theta = 500000.0});
  config.rope.isInterleaved = true;
}

/// Reads experts: softmax scores with a bias for the choice only. Chosen scores
/// are divided by their sum, which the config's lower bound keeps above 0.
MoeConfig readExperts(ConfigFields &fields) {
  auto either = [&](const char *own, const char *common) {
    return fields.has(own) ? own : common;
  };
  MoeConfig moe;
  moe.experts = fields.integerOr(either("moe_num_experts", "num_experts"), 1,
                                 kMostExperts, 64);
  moe.topK = fields.integerOr(either("moe_k", "num_experts_per_tok"), 1,
                              moe.experts, 6);
  moe.width = fields.dimensionOr("moe_intermediate_size", 1536);
  moe.sharedWidth = moe.width * fields.integerOr("moe_num_shared_experts", 0,
                                                 kMostExperts, 2);
  moe.hasBias = moe.isNormalized = true;
  moe.keys = kErnieKeys;
  return moe;
}

} // namespace

void readErnie(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  readAttention(fields, config, defaults, /*headDim=*/128);
}

void readErnieMoe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults) {
  constexpr int64_t kMost = int64_t(1) << 31;
  readAttention(fields, config, defaults, /*headDim=*/0);
  int64_t count = int64_t(config.layers.size());
  int64_t first = fields.integerOr("moe_layer_start_index", 0, kMost, 1);
  int64_t last = fields.integerOr("moe_layer_end_index", -1, kMost, -1);
  int64_t every = fields.integerOr("moe_layer_interval", 1, kMost, 1);
  if (last == -1)
    last = count - 1;
  for (int64_t i = 0; i < count; ++i) {
    LayerKind &layer = config.layers[size_t(i)];
    layer.isMoe = i >= first && i <= last && (i + 1) % every == 0;
    if (layer.isMoe && !config.moe)
      config.moe = readExperts(fields);
  }
}

} // namespace mtp::importer
