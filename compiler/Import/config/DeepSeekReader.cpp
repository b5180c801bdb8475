//===- DeepSeekReader.cpp - deepseek_v3, glm4_moe and similar families ----===//
//
// The families share the mixture of experts and the wiring of MTP modules, and
// differ in attention.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "runtime/schema/Limits.h"

namespace mtp::importer {

namespace {

/// Defaults of the configuration classes for absent keys.
struct ExpertDefaults {
  int64_t experts, topK, width, groups, keptGroups, firstDense;
  double scale;
  bool isNormalized = true;
  /// The family's name of sigmoid scoring, besides "sigmoid".
  std::string_view scoring = "sigmoid";
};

constexpr ExpertDefaults kDeepSeekExperts = {256, 8, 2048, 8, 4, 3, 2.5};
constexpr ExpertDefaults kGlmExperts = {128, 8, 1408, 1, 1, 1, 1.0};
/// The numbers of experts and of chosen experts have no default.
constexpr ExpertDefaults kDotsExperts = {
    1, 1, 1408, 1, 1, 0, 1.0, /*isNormalized=*/false, "noaux_tc"};
constexpr ExpertDefaults kGlmLiteExperts = {64, 4, 1536, 1, 1, 1, 1.8};

/// Default of dots1's `max_window_layers`.
constexpr int64_t kDotsFullLayers = 62;

/// Defaults of the configuration classes for keys of latent attention.
struct LatentDefaults {
  int64_t queryRank, latent, nope, rope, value;
};

constexpr ExpertKeys kHy3Keys = {.router = "mlp.router.gate.weight",
                                 .bias = "mlp.expert_bias",
                                 .shared = "mlp.shared_mlp."};

constexpr LatentDefaults kDeepSeekLatent = {1536, 512, 128, 64, 128};
constexpr LatentDefaults kGlmLiteLatent = {768, 512, 192, 64, 256};

MoeConfig readExperts(ConfigFields &fields, const ExpertDefaults &defaults) {
  MoeConfig moe;
  moe.isSigmoid = moe.hasBias = true;
  // transformers stores the number as n_routed_experts and reads
  // num_local_experts as another spelling, which has precedence.
  const char *experts = fields.has("num_local_experts") ? "num_local_experts"
                                                        : "n_routed_experts";
  moe.experts = fields.integerOr(experts, 1, kMostExperts, defaults.experts);
  moe.topK =
      fields.integerOr("num_experts_per_tok", 1, moe.experts, defaults.topK);
  moe.width = fields.dimensionOr("moe_intermediate_size", defaults.width);
  // An absent key means one shared expert. DeepSeek writes null for none.
  int64_t shared = fields.isNull("n_shared_experts") ? 0 : 1;
  moe.sharedWidth =
      moe.width * fields.integerOr("n_shared_experts", 0, kMostExperts, shared);
  moe.groups = fields.integerOr("n_group", 1, moe.experts, defaults.groups);
  moe.keptGroups =
      fields.integerOr("topk_group", 1, moe.groups, defaults.keptGroups);
  moe.isNormalized =
      fields.flagOr("norm_topk_prob",
                    defaults.isNormalized && !fields.isNull("norm_topk_prob"));
  moe.scale = fields.positiveOr("routed_scaling_factor", defaults.scale);
  if (moe.experts % moe.groups != 0 ||
      (moe.groups > 1 && moe.experts / moe.groups < 2))
    fields.fail("n_group", "a divisor of \"n_routed_experts\" that leaves two "
                           "experts in a group");
  else if (moe.topK > moe.experts / moe.groups * moe.keptGroups)
    fields.fail("num_experts_per_tok",
                "no more experts than \"topk_group\" groups have");
  if (fields.textOr("scoring_func", "sigmoid") != defaults.scoring)
    fields.expectText("scoring_func", "sigmoid");
  fields.expectText("topk_method", "noaux_tc");
  return moe;
}

/// Reads the number of modules under either name that transformers reads.
/// transformers assumes one module if both keys are absent; here the checkpoint
/// decides.
DrafterConfig readDrafter(ConfigFields &fields) {
  const char *key = fields.has("num_nextn_predict_layers")
                        ? "num_nextn_predict_layers"
                        : "num_mtp_layers";
  DrafterConfig drafter;
  drafter.style = DrafterStyle::DeepSeek;
  drafter.modules = fields.integerOr(key, 0, kMostModules, 0);
  drafter.key = key;
  drafter.isUnsaid =
      !fields.has(key) && !fields.isNull("num_nextn_predict_layers");
  // The module's hnorm was fitted to the target's states after its final norm.
  // So a published module that is used again needs its own state after its
  // norm. A model whose modules were trained on states before the norm sets the
  // key to false.
  drafter.carriesNormed = fields.flagOr("mtp_hidden_states_post_norm", true);
  return drafter;
}

constexpr int64_t kMost = int64_t(1) << 31;

/// Reads the number of first layers with a dense feed-forward part.
void readFirstDense(ConfigFields &fields, ModelConfig &config, int64_t absent) {
  int64_t dense = fields.integerOr("first_k_dense_replace", 0, kMost, absent);
  for (int64_t i = dense; i < int64_t(config.layers.size()); ++i)
    config.layers[size_t(i)].isMoe = true;
}

/// Reads the experts, and the layers that have them.
void readLayers(ConfigFields &fields, ModelConfig &config,
                const ExpertDefaults &defaults) {
  readFirstDense(fields, config, defaults.firstDense);
  int64_t every = fields.integerOr("moe_layer_freq", 1, kMost, 1);
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].isMoe &= int64_t(i) % every == 0;
  config.moe = readExperts(fields, defaults);
  config.drafter = readDrafter(fields);
  // A module's block is like the layer after the last one.
  config.drafterLayer.isMoe = true;
}

void readLatent(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults, const LatentDefaults &latent) {
  if (fields.has("index_topk"))
    fields.fail("index_topk", "no sparse attention indexer");
  fields.expectFlag("attention_bias", false);
  if (readKvHeads(fields, config, defaults.kvHeads) != config.heads)
    fields.fail("num_key_value_heads", "the value of \"num_attention_heads\"");
  MlaConfig mla;
  if (!fields.isNull("q_lora_rank"))
    mla.queryRank = fields.dimensionOr("q_lora_rank", latent.queryRank);
  mla.latent = fields.dimensionOr("kv_lora_rank", latent.latent);
  mla.nope = fields.dimensionOr("qk_nope_head_dim", latent.nope);
  mla.rope = fields.dimensionOr("qk_rope_head_dim", latent.rope);
  mla.value = fields.dimensionOr("v_head_dim", latent.value);
  config.mla = mla;
  config.rope = readRope(fields, config, mla.rope, {.scalesAttention = true});
  config.rope.isInterleaved =
      fields.flagOr("rope_interleave", !fields.isNull("rope_interleave"));
}

/// Reads the dense layers of glm4_moe_lite and hy_v3 from their list of types.
/// vLLM reads first_k_dense_replace, which must agree if it is present.
void readLayerTypes(ConfigFields &fields, ModelConfig &config) {
  std::vector<std::string> types = fields.texts("mlp_layer_types");
  if (!types.empty() && types.size() != config.layers.size()) {
    fields.fail("mlp_layer_types", "one type for each of "
                                   "\"num_hidden_layers\"");
    return;
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    bool isMoe = types.empty() ? i > 0 : types[i] == "sparse";
    if (!isMoe && !types.empty() && types[i] != "dense")
      fields.fail("mlp_layer_types", "\"dense\" or \"sparse\"");
    if (fields.has("first_k_dense_replace") && config.layers[i].isMoe != isMoe)
      fields.fail("first_k_dense_replace",
                  "the number of dense layers in \"mlp_layer_types\", "
                  "which is one without that key");
    config.layers[i].isMoe = isMoe;
  }
}

/// Reads the experts under hy_v3's names for the keys of readExperts().
MoeConfig readHy3Experts(ConfigFields &fields) {
  MoeConfig moe;
  moe.isSigmoid = moe.hasBias = moe.isNormalized = true;
  const char *experts =
      fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
  moe.experts = fields.integerOr(experts, 1, kMostExperts, 192);
  moe.topK = fields.integerOr("num_experts_per_tok", 1, moe.experts, 8);
  // vLLM reads the second name.
  const char *width = fields.has("moe_intermediate_size")
                          ? "moe_intermediate_size"
                          : "expert_hidden_dim";
  moe.width = fields.dimensionOr(width, 1536);
  moe.sharedWidth =
      moe.width * fields.integerOr("num_shared_experts", 1, kMostExperts, 1);
  moe.scale = fields.positiveOr("router_scaling_factor", 2.826);
  moe.keys = kHy3Keys;
  // The authors' code reads these keys; the class in transformers always
  // behaves as the values expected here.
  fields.expectFlag("route_norm", true);
  fields.expectFlag("qk_norm", true);
  return moe;
}

} // namespace

void readHy3(ConfigFields &fields, ModelConfig &config,
             const FamilyDefaults &defaults) {
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", 128);
  gqa.hasQkvBias = gqa.hasOutputBias = fields.flagOr("attention_bias", false);
  gqa.hasQkNorm = true;
  config.gqa = gqa;
  config.rope = readRope(fields, config, gqa.headDim, {.theta = 11158840.0});
  fields.expectFlag("mlp_bias", false);
  config.moe = readHy3Experts(fields);
  config.drafter = readDrafter(fields);
  config.drafter.style = DrafterStyle::Hy3;
  config.drafterLayer.isMoe = true;
  readFirstDense(fields, config, /*absent=*/1);
  readLayerTypes(fields, config);
}

void readDeepSeek(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults) {
  readLatent(fields, config, defaults, kDeepSeekLatent);
  readLayers(fields, config, kDeepSeekExperts);
}

void readYoutu(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  readLatent(fields, config, defaults, kDeepSeekLatent);
  fields.expectFlag("mlp_bias", false);
}

void readGlm4MoeLite(ConfigFields &fields, ModelConfig &config,
                     const FamilyDefaults &defaults) {
  readLatent(fields, config, defaults, kGlmLiteLatent);
  // The class would use fewer cosines than there are columns to rotate.
  if (fields.numberOr("partial_rotary_factor", 1.0) != 1.0)
    fields.fail("partial_rotary_factor", "1");
  readLayers(fields, config, kGlmLiteExperts);
  readLayerTypes(fields, config);
}

/// Reads dots1, which has no defaults for the numbers of experts.
void readDots1(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults) {
  for (const char *key :
       {"n_routed_experts", "n_shared_experts", "num_experts_per_tok"})
    if (!fields.has(key) && !fields.has("num_local_experts"))
      fields.fail(key, "a number of experts");
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", config.hidden / config.heads);
  gqa.hasQkvBias = gqa.hasOutputBias = fields.flagOr("attention_bias", false);
  gqa.hasQkNorm = true;
  config.gqa = gqa;
  config.rope = readRope(fields, config, gqa.headDim, {});
  readLayers(fields, config, kDotsExperts);
  config.drafter = {};
  readWindowedLayers(fields, config, readWindow(fields), kDotsFullLayers);
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
