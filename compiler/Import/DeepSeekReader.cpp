//===- DeepSeekReader.cpp - deepseek_v3 and glm4_moe ----------------------===//
//
// The two families share the mixture of experts and the wiring of MTP modules,
// and differ in attention.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/ConfigFamilies.h"

namespace mtp::importer {

namespace {

constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxModules = 16;

MoeConfig readExperts(ConfigFields &fields) {
  MoeConfig moe;
  moe.isSigmoid = true;
  moe.experts = fields.integer("n_routed_experts", 1, kMaxExperts);
  moe.topK = fields.integer("num_experts_per_tok", 1, moe.experts);
  moe.width = fields.dimension("moe_intermediate_size");
  moe.sharedWidth =
      moe.width * fields.integerOr("n_shared_experts", 0, kMaxExperts, 0);
  moe.groups = fields.integer("n_group", 1, moe.experts);
  moe.keptGroups = fields.integer("topk_group", 1, moe.groups);
  moe.isNormalized = fields.flagOr("norm_topk_prob", true);
  moe.scale = fields.positive("routed_scaling_factor");
  if (moe.experts % moe.groups != 0 ||
      (moe.groups > 1 && moe.experts / moe.groups < 2))
    fields.fail("n_group", "a divisor of \"n_routed_experts\" that leaves two "
                           "experts in a group");
  else if (moe.topK > moe.experts / moe.groups * moe.keptGroups)
    fields.fail("num_experts_per_tok",
                "no more experts than \"topk_group\" groups have");
  fields.expectText("scoring_func", "sigmoid");
  fields.expectText("topk_method", "noaux_tc");
  return moe;
}

/// Reads the experts, and which layers have them.
void readLayers(ConfigFields &fields, ModelConfig &config) {
  int64_t count = int64_t(config.layers.size());
  int64_t dense = fields.integer("first_k_dense_replace", 0, count);
  int64_t every = fields.integerOr("moe_layer_freq", 1, count, 1);
  for (int64_t i = dense; i < count; ++i)
    config.layers[size_t(i)].isMoe = i % every == 0;
  config.moe = readExperts(fields);
  config.drafter = {
      DrafterStyle::DeepSeek,
      fields.integerOr("num_nextn_predict_layers", 0, kMaxModules, 0)};
  // A module's block is that of the layer after the last.
  config.drafterLayer.isMoe = true;
}

} // namespace

void readDeepSeek(ConfigFields &fields, ModelConfig &config) {
  if (fields.has("index_topk"))
    fields.fail("index_topk", "no sparse attention indexer");
  fields.expectFlag("attention_bias", false);
  int64_t kvHeads =
      fields.integerOr("num_key_value_heads", 1, config.heads, config.heads);
  if (kvHeads != config.heads)
    fields.fail("num_key_value_heads", "as many as \"num_attention_heads\"");
  MlaConfig mla;
  if (fields.has("q_lora_rank"))
    mla.queryRank = fields.dimension("q_lora_rank");
  mla.latent = fields.dimension("kv_lora_rank");
  mla.nope = fields.dimension("qk_nope_head_dim");
  mla.rope = fields.dimension("qk_rope_head_dim");
  mla.value = fields.dimension("v_head_dim");
  config.mla = mla;
  config.rope = readRope(fields, mla.rope);
  config.rope.isInterleaved = fields.flagOr("rope_interleave", true);
  readLayers(fields, config);
}

void readGlm4Moe(ConfigFields &fields, ModelConfig &config) {
  GqaConfig gqa;
  gqa.kvHeads = fields.integer("num_key_value_heads", 1, config.heads);
  gqa.headDim = fields.dimension("head_dim");
  gqa.hasQkvBias = fields.flagOr("attention_bias", false);
  gqa.hasQkNorm = fields.flagOr("use_qk_norm", false);
  config.gqa = gqa;
  config.rope = readRope(fields, gqa.headDim, 0.5);
  config.rope.scaleFactor = 1.0;
  readLayers(fields, config);
}

} // namespace mtp::importer
