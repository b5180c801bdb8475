//===- MiniMaxReader.cpp - minimax_m2 -------------------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "runtime/schema/Limits.h"

namespace mtp::importer {

namespace {

/// Mixtral's names.
constexpr ExpertKeys kMiniMaxKeys = {
    .router = "block_sparse_moe.gate.weight",
    .bias = "block_sparse_moe.e_score_correction_bias",
    .expert = "block_sparse_moe.experts.{}.",
    .gate = "w1",
    .up = "w3",
    .down = "w2"};

/// Checks keys of the authors' code that the class in transformers ignores.
void checkVariant(ConfigFields &fields, const ModelConfig &config) {
  fields.expectText("scoring_func", "sigmoid");
  fields.expectFlag("use_routing_bias", true);
  fields.expectFlag("use_qk_norm", true);
  fields.expectText("qk_norm_type", "per_layer");
  if (fields.integerOr("shared_intermediate_size", 0, 1 << 24, 0) != 0)
    fields.fail("shared_intermediate_size", "0");
  std::vector<int64_t> kinds = fields.integers("attn_type_list", 0, 1 << 8);
  for (int64_t kind : kinds)
    if (kind != 1)
      fields.fail("attn_type_list", "1, full attention, in every layer");
  if (!kinds.empty() && kinds.size() != config.layers.size())
    fields.fail("attn_type_list", "one kind for each of "
                                  "\"num_hidden_layers\"");
}

} // namespace

void readMiniMaxM2(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults) {
  checkVariant(fields, config);
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", 128);
  gqa.hasQkNorm = gqa.isQkNormWhole = true;
  config.gqa = gqa;
  // Released configs give the rotated part of a head in this key.
  int64_t rotary = fields.integerOr("rotary_dim", 1, gqa.headDim, gqa.headDim);
  config.rope = readRope(
      fields, config, gqa.headDim,
      {.partial = double(rotary) / double(gqa.headDim), .theta = 5000000.0});
  MoeConfig moe;
  const char *experts =
      fields.has("num_experts") ? "num_experts" : "num_local_experts";
  moe.experts = fields.integerOr(experts, 1, kMostExperts, 256);
  moe.topK = fields.integerOr("num_experts_per_tok", 1, moe.experts, 8);
  moe.width = config.intermediate;
  moe.isSigmoid = moe.hasBias = moe.isNormalized = true;
  moe.keys = kMiniMaxKeys;
  config.moe = moe;
  for (LayerKind &layer : config.layers)
    layer.isMoe = true;
}

} // namespace mtp::importer
