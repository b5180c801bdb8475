//===- DeepSeekReader.cpp - deepseek_v3, kimi_k2 and glm4_moe -------------===//
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

/// What the two configuration classes give to absent keys.
struct ExpertDefaults {
  int64_t experts, topK, width, groups, keptGroups, firstDense;
  double scale;
};

constexpr ExpertDefaults kDeepSeekExperts = {256, 8, 2048, 8, 4, 3, 2.5};
constexpr ExpertDefaults kGlmExperts = {128, 8, 1408, 1, 1, 1, 1.0};

MoeConfig readExperts(ConfigFields &fields, const ExpertDefaults &defaults) {
  MoeConfig moe;
  moe.isSigmoid = true;
  // transformers keeps the number under the second name and reads the first as
  // another spelling, which wins.
  const char *experts = fields.has("num_local_experts") ? "num_local_experts"
                                                        : "n_routed_experts";
  moe.experts = fields.integerOr(experts, 1, kMaxExperts, defaults.experts);
  moe.topK =
      fields.integerOr("num_experts_per_tok", 1, moe.experts, defaults.topK);
  moe.width = fields.dimensionOr("moe_intermediate_size", defaults.width);
  // Absent: one. Null is DeepSeek's own spelling of none.
  int64_t shared = fields.isNull("n_shared_experts") ? 0 : 1;
  moe.sharedWidth =
      moe.width * fields.integerOr("n_shared_experts", 0, kMaxExperts, shared);
  moe.groups = fields.integerOr("n_group", 1, moe.experts, defaults.groups);
  moe.keptGroups =
      fields.integerOr("topk_group", 1, moe.groups, defaults.keptGroups);
  moe.isNormalized =
      fields.flagOr("norm_topk_prob", !fields.isNull("norm_topk_prob"));
  moe.scale = fields.positiveOr("routed_scaling_factor", defaults.scale);
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

/// transformers reads both names. Its default is one module, whether the
/// checkpoint has one or not; so without the key the checkpoint decides.
DrafterConfig readDrafter(ConfigFields &fields) {
  const char *key = fields.has("num_nextn_predict_layers")
                        ? "num_nextn_predict_layers"
                        : "num_mtp_layers";
  DrafterConfig drafter;
  drafter.style = DrafterStyle::DeepSeek;
  drafter.modules = fields.integerOr(key, 0, kMaxModules, 0);
  drafter.isUnsaid =
      !fields.has(key) && !fields.isNull("num_nextn_predict_layers");
  // The module's hnorm was fitted to states after a final norm: the target's.
  // So published modules want their own after its norm too, when they are used
  // again. A model whose modules were trained on the others says so.
  drafter.carriesNormed = fields.flagOr("mtp_hidden_states_post_norm", true);
  return drafter;
}

/// Reads the experts, and which layers have them.
void readLayers(ConfigFields &fields, ModelConfig &config,
                const ExpertDefaults &defaults) {
  constexpr int64_t kMost = int64_t(1) << 31;
  int64_t count = int64_t(config.layers.size());
  int64_t dense =
      fields.integerOr("first_k_dense_replace", 0, kMost, defaults.firstDense);
  int64_t every = fields.integerOr("moe_layer_freq", 1, kMost, 1);
  for (int64_t i = dense; i < count; ++i)
    config.layers[size_t(i)].isMoe = i % every == 0;
  config.moe = readExperts(fields, defaults);
  config.drafter = readDrafter(fields);
  // A module's block is that of the layer after the last.
  config.drafterLayer.isMoe = true;
}

} // namespace

void readDeepSeek(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults) {
  if (fields.has("index_topk"))
    fields.fail("index_topk", "no sparse attention indexer");
  fields.expectFlag("attention_bias", false);
  if (readKvHeads(fields, config, defaults.kvHeads) != config.heads)
    fields.fail("num_key_value_heads", "as many as \"num_attention_heads\"");
  MlaConfig mla;
  if (!fields.isNull("q_lora_rank"))
    mla.queryRank = fields.dimensionOr("q_lora_rank", 1536);
  mla.latent = fields.dimensionOr("kv_lora_rank", 512);
  mla.nope = fields.dimensionOr("qk_nope_head_dim", 128);
  mla.rope = fields.dimensionOr("qk_rope_head_dim", 64);
  mla.value = fields.dimensionOr("v_head_dim", 128);
  config.mla = mla;
  config.rope = readRope(fields, config, mla.rope, {.scalesAttention = true});
  config.rope.isInterleaved =
      fields.flagOr("rope_interleave", !fields.isNull("rope_interleave"));
  readLayers(fields, config, kDeepSeekExperts);
}

void readGlm4Moe(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults) {
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", config.hidden / config.heads);
  gqa.hasQkvBias = fields.flagOr("attention_bias", false);
  gqa.hasQkNorm = fields.flagOr("use_qk_norm", false);
  config.gqa = gqa;
  config.rope = readRope(fields, config, gqa.headDim, {.partial = 0.5});
  readLayers(fields, config, kGlmExperts);
}

} // namespace mtp::importer
