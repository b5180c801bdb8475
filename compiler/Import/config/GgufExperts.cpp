//===- GgufExperts.cpp - Experts of a GGUF model --------------------------===//

#include "compiler/Import/config/GgufTranslation.h"
#include "runtime/schema/Limits.h"

namespace mtp::importer {

namespace {

/// The config's keys for numbers of a family's experts. Empty: no such key.
struct ExpertKeys {
  std::string_view family, count, used, width;
  std::string_view shared = ""; ///< The number of shared experts.
  std::string_view sharedWidth = "";
};

constexpr std::string_view kUsed = "num_experts_per_tok";
constexpr std::string_view kWidth = "moe_intermediate_size";

constexpr ExpertKeys kExperts[] = {
    {"deepseek_v3", "n_routed_experts", kUsed, kWidth, "n_shared_experts"},
    {"dots1", "n_routed_experts", kUsed, kWidth, "n_shared_experts"},
    {"ernie4_5_moe", "moe_num_experts", "moe_k", kWidth,
     "moe_num_shared_experts"},
    {"glm4_moe", "n_routed_experts", kUsed, kWidth, "n_shared_experts"},
    {"hy_v3", "num_experts", kUsed, kWidth},
    {"minimax_m2", "num_local_experts", kUsed, "intermediate_size"},
    {"qwen3_moe", "num_experts", kUsed, kWidth},
    {"qwen3_next", "num_experts", kUsed, kWidth, "",
     "shared_expert_intermediate_size"},
    {"qwen3_5_moe_text", "num_experts", kUsed, kWidth, "",
     "shared_expert_intermediate_size"},
};

void translateScores(GgufTranslation &from) {
  constexpr double kSoftmax = 1, kSigmoid = 2;
  const std::string gating = from.prefix + "expert_gating_func";
  double scale = from.number(from.prefix + "expert_weights_scale").value_or(1);
  // 0 means no scale.
  scale = scale == 0 ? 1 : scale;
  bool isNormalized =
      from.flag(from.prefix + "expert_weights_norm").value_or(false);
  if (from.is({"deepseek_v3", "dots1", "glm4_moe"})) {
    // Files without the key have the scores of DeepSeek V2.
    bool isOld = from.type == "deepseek_v3" && !from.header.find(gating);
    // But GLM-4.7-Flash, which llama.cpp tells by its shape, has GLM's.
    const GgufTensor *table = from.findTensor("token_embd.weight");
    constexpr int64_t kGlmTokens = 154880;
    if (isOld && table && table->shape.front() == kGlmTokens)
      isOld = from.layers != 47 && from.layers != 48;
    if (isOld || from.number(gating) == kSoftmax)
      from.config.addText("scoring_func", "softmax");
    else
      from.expect(gating, kSigmoid);
    from.config.add(
        "n_group",
        from.integer(from.prefix + "expert_group_count").value_or(1));
    from.config.add(
        "topk_group",
        from.integer(from.prefix + "expert_group_used_count").value_or(1));
    from.config.add("routed_scaling_factor", scale);
    from.config.addFlag("norm_topk_prob", isNormalized);
    return;
  }
  if (from.type == "hy_v3") {
    from.expect(gating, kSigmoid);
    from.config.add("router_scaling_factor", scale);
    from.config.addFlag("route_norm", isNormalized);
    return;
  }
  from.expect(from.prefix + "expert_weights_scale", 1);
  if (from.type == "minimax_m2")
    from.expect(gating, kSigmoid);
  else
    from.expect(gating, kSoftmax);
  // The file does not say so; the architecture does.
  if (from.type.starts_with("qwen"))
    from.config.addFlag("norm_topk_prob", true);
}

void translateSparseLayers(GgufTranslation &from) {
  auto isSparse = [&](int64_t layer) {
    return from.findIn(layer, "ffn_gate_inp.weight") != nullptr;
  };
  int64_t dense =
      from.integer(from.prefix + "leading_dense_block_count").value_or(0);
  if (from.is({"deepseek_v3", "dots1", "glm4_moe"}))
    from.config.add("first_k_dense_replace", dense);
  int64_t count = std::min(from.layers, int64_t(kMostLayers));
  if (from.type == "hy_v3") {
    int64_t width = from.required(from.prefix + "expert_feed_forward_length");
    int64_t shared =
        from.integer(from.prefix + "expert_shared_feed_forward_length")
            .value_or(width);
    if (width < 1 || shared % width != 0)
      from.fail(from.prefix + "expert_shared_feed_forward_length",
                "a multiple of the width of an expert");
    else
      from.config.add("num_shared_experts", shared / width);
    std::string types;
    for (int64_t i = 0; i < count; ++i)
      types += std::string(i ? ", " : "") +
               (isSparse(i) ? "\"sparse\"" : "\"dense\"");
    from.config.add("mlp_layer_types", std::string_view("[" + types + "]"));
  }
  if (from.type != "ernie4_5_moe")
    return;
  from.config.add("moe_layer_start_index", dense);
  from.config.add(
      "moe_layer_interval",
      from.integer(from.prefix + "interleave_moe_layer_step").value_or(1));
  int64_t last = count - 1;
  while (last > 0 && !isSparse(last))
    --last;
  from.config.add("moe_layer_end_index", last);
}

} // namespace

void translateExperts(GgufTranslation &from) {
  int64_t experts = from.integer(from.prefix + "expert_count").value_or(0);
  if (experts == 0)
    return;
  auto keys = std::ranges::find(kExperts, from.type, &ExpertKeys::family);
  if (keys == std::end(kExperts))
    return from.fail(from.prefix + "expert_count", "no experts in this family");
  int64_t used = from.required(from.prefix + "expert_used_count");
  int64_t width =
      from.integer(from.prefix + "expert_feed_forward_length").value_or(0);
  if (width == 0 && used > 0)
    width = from.required(from.prefix + "feed_forward_length") / used;
  from.config.add(keys->count, experts);
  from.config.add(keys->used, used);
  if (keys->width == kWidth)
    from.config.add(keys->width, width);
  else if (from.integer(from.prefix + "feed_forward_length") != width)
    from.fail(from.prefix + "expert_feed_forward_length",
              "the width of experts");
  if (!keys->shared.empty())
    from.config.add(
        keys->shared,
        from.integer(from.prefix + "expert_shared_count").value_or(0));
  if (!keys->sharedWidth.empty())
    from.config.add(
        keys->sharedWidth,
        from.required(from.prefix + "expert_shared_feed_forward_length"));
  translateScores(from);
  translateSparseLayers(from);
}

} // namespace mtp::importer
