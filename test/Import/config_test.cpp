//===- config_test.cpp - Families of configs ------------------------------===//

#include "ConfigTestUtil.h"

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::importer::test;

namespace {

TEST(Config, ReadsLlama) {
  ModelConfig config = read(kLlama);
  EXPECT_EQ(config.vocab, 127);
  EXPECT_EQ(config.layers.size(), 3u);
  ASSERT_TRUE(config.attention()->gqa);
  EXPECT_EQ(config.attention()->gqa->headDim, 16);
  EXPECT_FALSE(config.attention()->gqa->hasQkvBias);
  EXPECT_EQ(config.attention()->rope.dim, 16);
  EXPECT_EQ(config.attention()->rope.theta, 10000.0);
  EXPECT_FALSE(config.attention()->rope.isInterleaved);
  EXPECT_FALSE(config.isTied);
  EXPECT_EQ(config.storedType, WeightType::BF16);
  EXPECT_EQ(config.generation.eos, std::vector<int32_t>{2});
  config = read(kLlama.with("attention_bias", "true"));
  EXPECT_TRUE(config.attention()->gqa->hasQkvBias &&
              config.attention()->gqa->hasOutputBias);
  EXPECT_EQ(
      read(kLlama.without("num_key_value_heads")).attention()->gqa->kvHeads, 4);
  EXPECT_EQ(read(kLlama.with("num_key_value_heads", "null"))
                .attention()
                ->gqa->kvHeads,
            4);
  EXPECT_EQ(read(kLlama.with("hidden_act", "\"swish\"")).vocab, 127);
  EXPECT_EQ(read(kLlama.with("head_dim", "null")).attention()->gqa->headDim,
            16);
}

TEST(Config, ReadsDeepSeek) {
  ModelConfig config = read(kDeepSeek);
  ASSERT_TRUE(config.attention()->mla && config.moe());
  EXPECT_EQ(config.attention()->mla->queryRank, 48);
  EXPECT_EQ(config.attention()->rope.dim, 8);
  EXPECT_TRUE(config.attention()->rope.isInterleaved);
  EXPECT_EQ(config.moe()->sharedWidth, 80);
  EXPECT_TRUE(config.moe()->isSigmoid && config.moe()->isNormalized);
  EXPECT_FALSE(config.layers[0].isMoe());
  EXPECT_TRUE(config.layers[1].isMoe() && config.drafterLayer.isMoe());
  EXPECT_EQ(config.drafter.modules, 1);
  EXPECT_EQ(
      read(kDeepSeek.with("q_lora_rank", "null")).attention()->mla->queryRank,
      0);
  EXPECT_FALSE(read(kDeepSeek.with("rope_interleave", "false"))
                   .attention()
                   ->rope.isInterleaved);
  config = read(kDeepSeek.with("moe_layer_freq", "2"));
  EXPECT_FALSE(config.layers[1].isMoe());
  EXPECT_TRUE(config.layers[2].isMoe());
}

/// Kimi K2 is DeepSeek's code under another name.
TEST(Config, ReadsKimi) {
  ModelConfig config = read(kDeepSeek.with("model_type", "\"kimi_k2\"")
                                .without("n_group")
                                .with("n_group", "1")
                                .with("num_nextn_predict_layers", "0"));
  ASSERT_TRUE(config.attention()->mla && config.moe());
  EXPECT_EQ(config.drafter.modules, 0);
  EXPECT_EQ(config.moe()->groups, 1);
}

/// Mistral has no biases, and by default windows in all layers.
TEST(Config, ReadsMistral) {
  Config mistral = kLlama.with("model_type", "\"mistral\"");
  ModelConfig config = read(mistral);
  EXPECT_EQ(config.layers[0].window(), 4096);
  EXPECT_EQ(config.layers[2].window(), 4096);
  EXPECT_FALSE(config.attention()->gqa->hasQkvBias ||
               config.attention()->gqa->hasQkNorm);
  EXPECT_EQ(config.attention()->gqa->headDim, 16);
  EXPECT_EQ(read(mistral.with("sliding_window", "null")).layers[0].window(), 0);
  EXPECT_EQ(read(mistral.with("sliding_window", "64")).layers[1].window(), 64);
  EXPECT_EQ(read(mistral.with("head_dim", "32")).attention()->gqa->headDim, 32);
  EXPECT_EQ(read(mistral.with("hidden_size", "66")).attention()->gqa->headDim,
            16);
  EXPECT_EQ(read(mistral.with("num_key_value_heads", "null"))
                .attention()
                ->gqa->kvHeads,
            4);
  expectError(mistral.without("num_key_value_heads"),
              "\"num_key_value_heads\": expected an integer of 1 to 4, got "
              "nothing, for which the default is 8");
}

TEST(Config, ReadsExpertsOfTransformers5) {
  Config moe = kQwen3Moe.without("num_experts");
  EXPECT_EQ(read(moe.with("num_local_experts", "8")).moe()->experts, 8);
  EXPECT_EQ(read(kQwen3Moe.with("num_local_experts", "4")).moe()->experts, 4);
  EXPECT_FALSE(read(kQwen3Moe.with("num_experts", "0")).moe());
  EXPECT_EQ(read(kDeepSeek.with("num_local_experts", "4")).moe()->experts, 4);
}

TEST(Config, ReadsQwen) {
  ModelConfig config = read(kLlama.with("model_type", "\"qwen2\""));
  EXPECT_TRUE(config.attention()->gqa->hasQkvBias);
  EXPECT_FALSE(config.attention()->gqa->hasOutputBias ||
               config.attention()->gqa->hasQkNorm);
  config = read(kQwen3Moe);
  EXPECT_TRUE(config.attention()->gqa->hasQkNorm);
  EXPECT_TRUE(config.layers[0].isMoe());
  EXPECT_FALSE(config.moe()->isSigmoid);
  config = read(kQwen3Moe.with("decoder_sparse_step", "2")
                    .with("mlp_only_layers", "[1]"));
  EXPECT_FALSE(config.layers[0].isMoe() || config.layers[1].isMoe() ||
               config.layers[2].isMoe());
  EXPECT_FALSE(config.moe());
}

TEST(Config, ReadsWindows) {
  Config qwen = kLlama.with("model_type", "\"qwen2\"")
                    .with("sliding_window", "64")
                    .with("max_window_layers", "2");
  EXPECT_EQ(read(qwen).layers[2].window(), 0);
  expectError(qwen.with("layer_types", "[\"sliding_attention\",\"full_attention"
                                       "\",\"full_attention\"]"),
              "in every place where \"use_sliding_window\" is not true");
  qwen = qwen.with("use_sliding_window", "true");
  EXPECT_EQ(read(qwen.without("sliding_window")).layers[2].window(), 4096);
  EXPECT_EQ(read(qwen.with("sliding_window", "null")).layers[2].window(), 0);
  EXPECT_EQ(read(qwen).layers[1].window(), 0);
  EXPECT_EQ(read(qwen).layers[2].window(), 64);
  ModelConfig config = read(qwen.with(
      "layer_types",
      "[\"sliding_attention\",\"full_attention\",\"full_attention\"]"));
  EXPECT_EQ(config.layers[0].window(), 64);
  EXPECT_EQ(config.layers[2].window(), 0);
  expectError(qwen.with("layer_types", "[\"full_attention\"]"), "layer_types");
  expectError(qwen.with("layer_types",
                        "[\"full_attention\",\"full_attention\",\"linear\"]"),
              "\"full_attention\" or \"sliding_attention\"");
  EXPECT_EQ(read(kQwen3Moe.with("use_sliding_window", "true")
                     .with("sliding_window", "8"))
                .layers[0]
                .window(),
            8);
  expectError(
      kLlama.with("model_type", "\"mimo\"").with("use_sliding_window", "true"),
      "key \"use_sliding_window\": expected false, got true");
}

TEST(Config, ReadsMiMoAndGlm) {
  ModelConfig mimo = read(kLlama.with("model_type", "\"mimo\"")
                              .with("num_nextn_predict_layers", "1"));
  EXPECT_EQ(mimo.drafter.style, DrafterStyle::MiMo);
  EXPECT_TRUE(mimo.attention()->gqa->hasQkvBias);
  EXPECT_FALSE(mimo.drafterLayer.isMoe());
  ModelConfig glm = read(kGlm);
  EXPECT_EQ(glm.attention()->rope.dim, 8);
  EXPECT_FALSE(glm.attention()->rope.isInterleaved ||
               glm.attention()->gqa->hasQkNorm);
  EXPECT_EQ(glm.drafter.style, DrafterStyle::DeepSeek);
  EXPECT_EQ(
      read(kGlm.with("partial_rotary_factor", "1.0")).attention()->rope.dim,
      16);
  EXPECT_TRUE(
      read(kGlm.with("use_qk_norm", "true")).attention()->gqa->hasQkNorm);
}

TEST(Config, RefusesFamilies) {
  expectError(kLlama.with("model_type", "\"gpt2\""),
              "config key \"model_type\": expected one of deepseek_v3, dots1, "
              "ernie4_5, ernie4_5_moe, gemma3_text, glm4_moe, glm4_moe_lite, "
              "hy_v3, kimi_k2, llama, mimo, minimax_m2, ministral3, mistral, "
              "qwen2, qwen3, qwen3_moe, qwen3_next, qwen3_5_text, "
              "qwen3_5_moe_text, seed_oss, youtu, gemma3, kimi_k25, qwen3_5, "
              "qwen3_5_moe, got \"gpt2\"");
  expectError(kLlama.without("model_type"), "\"model_type\"");
  expectError(kDeepSeek.with("model_type", "\"deepseek_v32\""),
              "\"deepseek_v32\" is not supported: its attention selects "
              "positions with an indexer");
  expectError(kDeepSeek.with("index_topk", "2048"), "\"index_topk\"");
}

/// An unknown family: its config's keys determine the nearest family and the
/// features that this family lacks.
TEST(Config, NamesTheNearestFamily) {
  auto named = [](const Config &config, const char *name) {
    return config.with("model_type", "\"" + std::string(name) + "\"");
  };
  expectError(named(kDeepSeek, "new_moe"), "nearest is \"deepseek_v3\"");
  expectError(named(kDeepSeek, "glm_moe_dsa").with("index_topk", "2048"),
              "nearest is \"glm4_moe_lite\", which has no indexer that selects "
              "positions (\"index_topk\")");
  expectError(named(kGlm.without("kv_lora_rank"), "hy_v9"),
              "nearest is \"glm4_moe\"");
  expectError(named(kQwen3Moe, "mixtral"), "nearest is \"qwen3_moe\"");
  expectError(named(kLlama, "olmo"), "nearest is \"llama\"");
  expectError(
      named(kLlama, "gemma2")
          .with("attn_logit_softcapping", "50.0")
          .with("final_logit_softcapping", "30.0"),
      "nearest is \"gemma3_text\", which has no bounded attention scores "
      "(\"attn_logit_softcapping\"), no bounded logits "
      "(\"final_logit_softcapping\")");
  expectError(named(kLlama, "olmo2").with("attn_logit_softcapping", "null"),
              "nearest is \"llama\"");
  expectError(
      named(kLlama, "mistral3")
          .with("text_config", "{\"model_type\":\"ministral3\"}"),
      "its \"text_config\" is of \"ministral3\"; a model within another one is "
      "not read");
}

/// A text model within another model: its config, the keys of its weights, and
/// the outer config's keys for the whole model.
TEST(Config, ReadsTextModelsOfWrappers) {
  Config outer({{"model_type", "\"kimi_k25\""},
                {"text_config", "{\"num_hidden_layers\":3}"}});
  ModelConfig config = read(outer);
  EXPECT_EQ(config.family, "deepseek_v3");
  EXPECT_EQ(config.layers.size(), 3u);
  EXPECT_EQ(config.keys().trunk, "language_model.model.");
  EXPECT_EQ(config.layouts.at(1).trunk, "model.language_model.");
  EXPECT_EQ(layerPrefix(config, 2), "language_model.model.layers.2.");
  EXPECT_FALSE(config.isTied);
  EXPECT_TRUE(read(outer.with("tie_word_embeddings", "true")).isTied);
  EXPECT_EQ(read(outer.with("eos_token_id", "7")).generation.eos,
            std::vector<int32_t>{7});
  expectError(outer.without("text_config"),
              "\"text_config\": expected an object");
  expectError(outer.with("text_config", "{\"model_type\":\"gpt2\"}"),
              "\"text_config.model_type\": expected one of");
  expectError(outer.with("text_config", "{\"hidden_size\":0}"),
              "\"text_config.hidden_size\"");
  expectError(outer.with("quantization_config", "{\"quant_method\":\"hqq\"}"),
              "\"quantization_config.quant_method\": expected one of ");
}

/// Configs of drafters, most of which claim to be a llama or qwen3 with one
/// layer.
TEST(Config, RefusesDrafters) {
  const char *instead = "import the model that it drafts for, with --drafter "
                        "and this folder";
  auto expect = [&](const char *key, const char *value, const char *method) {
    expectError(kLlama.with(key, value), "config key \"" + std::string(key) +
                                             "\": expected a model, got " +
                                             method);
    expectError(kLlama.with(key, value), instead);
  };
  expect("draft_vocab_size", "32000", "an EAGLE-3 drafter");
  expect("eagle_config", "{}", "an EAGLE-3 drafter");
  expect("target_hidden_size", "4096", "an EAGLE-3 drafter");
  expect("medusa_num_heads", "5", "Medusa heads");
  expect("speculators_model_type", "\"eagle3\"", "an EAGLE-3 drafter");
  expect("speculators_config", "{}", "a drafter of the speculators library");
  expect("dflash_config", "{}", "a DFlash drafter");
  expect("pard_token", "3", "a PARD drafter");
  expect("architectures", "[\"LlamaForCausalLMEagle3\"]", "an EAGLE-3 drafter");
  expect("architectures", "[\"EagleLlamaForCausalLM\"]", "an EAGLE drafter");
  expect("architectures", "[\"DeepSeekMTPModel\"]", "an MTP module alone");
  expect("model_type", "\"medusa\"", "Medusa heads");
  expect("model_type", "\"mlp_speculator\"", "an MLP speculator");
  // A key with the value null comes from another config class.
  EXPECT_EQ(read(kLlama.with("draft_vocab_size", "null")).vocab, 127);
  EXPECT_EQ(read(kLlama.with("architectures", "[\"LlamaForCausalLM\"]")).vocab,
            127);
}

/// Keys that change results and that no imported family has.
TEST(Config, RefusesForeignKeys) {
  expectError(kLlama.with("residual_multiplier", "0.22"),
              "\"residual_multiplier\": expected no such key in this family");
  expectError(kLlama.with("final_logit_softcapping", "30.0"),
              "\"final_logit_softcapping\"");
  expectError(kLlama.with("is_causal", "false"), "expected true, got false");
  expectError(kDeepSeek.with("mtp_hidden_states_first", "true"),
              "\"mtp_hidden_states_first\": expected false");
  EXPECT_EQ(read(kLlama.with("residual_multiplier", "1.0")).vocab, 127);
  EXPECT_EQ(read(kLlama.with("clip_qkv", "null")).vocab, 127);
  EXPECT_EQ(read(kLlama.with("final_logit_softcapping", "0")).vocab, 127);
}

/// Families with the code of another family and their own defaults.
TEST(Config, ReadsNearFamilies) {
  ModelConfig lite = read(Config({{"model_type", "\"glm4_moe_lite\""}}));
  EXPECT_EQ(lite.layers.size(), 47u);
  EXPECT_FALSE(lite.layers[0].isMoe());
  EXPECT_TRUE(lite.layers[1].isMoe() && lite.attention()->rope.isInterleaved);
  EXPECT_EQ(lite.attention()->mla->nope, 192);
  EXPECT_EQ(lite.moe()->scale, 1.8);
  EXPECT_EQ(lite.drafter.style, DrafterStyle::DeepSeek);
  EXPECT_TRUE(lite.drafter.isUnsaid);
  ModelConfig youtu = read(Config({{"model_type", "\"youtu\""}}));
  EXPECT_TRUE(youtu.isTied && youtu.attention()->mla && !youtu.moe());
  EXPECT_EQ(youtu.drafter.style, DrafterStyle::None);
  ModelConfig seed = read(Config({{"model_type", "\"seed_oss\""}}));
  EXPECT_TRUE(seed.attention()->gqa->hasQkvBias &&
              !seed.attention()->gqa->hasOutputBias);
  EXPECT_EQ(seed.attention()->gqa->headDim, 128);
  ModelConfig dots = read(Config({{"model_type", "\"dots1\""},
                                  {"n_routed_experts", "128"},
                                  {"n_shared_experts", "2"},
                                  {"num_experts_per_tok", "6"},
                                  {"scoring_func", "\"noaux_tc\""}}));
  EXPECT_TRUE(dots.attention()->gqa->hasQkNorm && !dots.moe()->isNormalized);
  EXPECT_TRUE(dots.layers[0].isMoe());
  EXPECT_EQ(dots.attention()->rope.dim, 144);
  EXPECT_EQ(dots.layers[61].window(), 0);
  EXPECT_EQ(dots.drafter.style, DrafterStyle::None);
}

/// Families with their own names for experts.
TEST(Config, ReadsNamedExperts) {
  ModelConfig hy = read(Config({{"model_type", "\"hy_v3\""}}));
  EXPECT_FALSE(hy.layers[0].isMoe());
  EXPECT_TRUE(hy.layers[1].isMoe() && hy.attention()->gqa->hasQkNorm);
  EXPECT_EQ(hy.attention()->rope.theta, 11158840.0);
  EXPECT_EQ(hy.moe()->keys.bias, "mlp.expert_bias");
  EXPECT_EQ(hy.drafter.style, DrafterStyle::Hy3);
  ModelConfig m2 =
      read(Config({{"model_type", "\"minimax_m2\""}, {"rotary_dim", "64"}}));
  EXPECT_TRUE(m2.layers[0].isMoe() && m2.attention()->gqa->isQkNormWhole);
  EXPECT_EQ(m2.attention()->rope.dim, 64);
  EXPECT_EQ(m2.attention()->rope.theta, 5000000.0);
  EXPECT_EQ(m2.moe()->width, 1536);
  ModelConfig dense = read(Config({{"model_type", "\"ernie4_5\""}}));
  EXPECT_TRUE(dense.isTied && dense.attention()->rope.isInterleaved &&
              !dense.moe());
  EXPECT_EQ(dense.attention()->gqa->headDim, 128);
  Config ernie({{"model_type", "\"ernie4_5_moe\""}});
  ModelConfig moe = read(ernie.with("moe_layer_end_index", "20"));
  EXPECT_TRUE(moe.moe()->hasBias && !moe.moe()->isSigmoid);
  EXPECT_TRUE(moe.layers[1].isMoe() && moe.layers[20].isMoe());
  EXPECT_FALSE(moe.layers[0].isMoe() || moe.layers[21].isMoe());
  EXPECT_FALSE(read(ernie.with("moe_layer_start_index", "28")).moe());
}

TEST(Config, RefusesVariantsOfNamedFamilies) {
  Config m2({{"model_type", "\"minimax_m2\""}});
  expectError(m2.with("attn_type_list", "[0]"), "\"attn_type_list\"");
  expectError(m2.with("attn_type_list", "[1]"), "one kind for each");
  expectError(m2.with("scoring_func", "\"softmax\""), "\"sigmoid\"");
  expectError(m2.with("shared_intermediate_size", "8"), "expected 0, got 8");
  expectError(m2.with("rotary_dim", "129"), "\"rotary_dim\"");
  Config hy({{"model_type", "\"hy_v3\""}});
  expectError(hy.with("route_norm", "false"), "\"route_norm\"");
  expectError(hy.with("first_k_dense_replace", "2"), "\"mlp_layer_types\"");
  for (const char *family : {"ernie4_5", "ernie4_5_moe"})
    expectError(Config({{"model_type", '"' + std::string(family) + '"'},
                        {"use_bias", "true"}}),
                "\"use_bias\": expected false");
}

const Config kNext({{"model_type", "\"qwen3_next\""}});

/// Defaults of the classes of hybrids.
TEST(Config, ReadsHybrids) {
  ModelConfig next = read(kNext);
  ASSERT_TRUE(next.recurrence() && next.attention()->gqa && next.moe());
  EXPECT_EQ(next.norm.offset, 1);
  EXPECT_EQ(next.attention()->rope.dim, 64);
  EXPECT_TRUE(next.attention()->gqa->hasQkNorm &&
              next.attention()->gqa->hasOutputGate);
  EXPECT_TRUE(next.recurrence()->isByKeyHead);
  EXPECT_EQ(next.recurrence()->columns(), 2 * 16 * 128 + 32 * 128);
  EXPECT_EQ(next.recurrence()->window, 4);
  EXPECT_TRUE(next.layers[2].isRecurrent() && next.layers[2].isMoe());
  EXPECT_FALSE(next.layers[3].isRecurrent() || next.layers[3].isStacked());
  EXPECT_TRUE(next.moe()->hasSharedGate && next.moe()->isNormalized);
  EXPECT_EQ(next.moe()->experts, 512);
  EXPECT_EQ(next.moe()->sharedWidth, 512);
  EXPECT_TRUE(next.drafter.isUnsaid && next.drafterLayer.isMoe());
  EXPECT_FALSE(next.drafterLayer.isRecurrent());
  ModelConfig dense = read(Config({{"model_type", "\"qwen3_5_text\""}}));
  EXPECT_FALSE(dense.moe() || dense.recurrence()->isByKeyHead);
  EXPECT_EQ(dense.attention()->gqa->kvHeads, 4);
  ModelConfig moe = read(Config({{"model_type", "\"qwen3_5_moe_text\""}}));
  EXPECT_TRUE(moe.layers[0].isStacked() && moe.drafterLayer.isStacked());
  EXPECT_EQ(moe.moe()->topK, 8);
}

/// A list or an interval gives the layers with attention.
TEST(Config, ReadsBlockTypes) {
  Config three = kNext.with("num_hidden_layers", "3");
  ModelConfig config = read(three.with("full_attention_interval", "2"));
  EXPECT_TRUE(config.layers[0].isRecurrent() && config.layers[2].isRecurrent());
  EXPECT_FALSE(config.layers[1].isRecurrent());
  const char *types = "[\"full_attention\",\"linear_attention\","
                      "\"linear_attention\"]";
  config = read(three.with("layer_types", types));
  EXPECT_FALSE(config.layers[0].isRecurrent());
  EXPECT_EQ(placeAmongAlike(config, 2), 1);
  EXPECT_EQ(placeAmongAlike(config, 0), 0);
  EXPECT_FALSE(read(three.with("full_attention_interval", "1")).recurrence());
  expectError(
      three.with("layer_types", types).with("full_attention_interval", "2"),
      "\"full_attention_interval\": expected the distance of the layers "
      "of \"full_attention\" in \"layer_types\", or no such key, got 2");
  expectError(kNext.with("layer_types", types),
              "\"layer_types\": expected one type for each of the 48 "
              "\"num_hidden_layers\"");
  expectError(three.with("layer_types", "[\"full_attention\",\"mamba\","
                                        "\"linear_attention\"]"),
              "expected \"full_attention\" or \"linear_attention\"");
  expectError(three, "\"full_attention_interval\": expected a layer of "
                     "\"full_attention\" at least");
}

TEST(Config, RefusesVariantsOfHybrids) {
  expectError(kNext.with("linear_num_key_heads", "12"),
              "\"linear_num_key_heads\": expected a divisor of the 32 "
              "\"linear_num_value_heads\", got 12");
  expectError(kNext.with("num_key_value_heads", "3"),
              "\"num_key_value_heads\": expected a divisor of the 16");
  expectError(kNext.with("linear_conv_kernel_dim", "1"),
              "\"linear_conv_kernel_dim\"");
  expectError(kNext.with("attention_bias", "true"), "\"attention_bias\"");
  expectError(kNext.with("attn_output_gate", "false"), "\"attn_output_gate\"");
  expectError(kNext.with("mtp_num_hidden_layers", "2"),
              "\"mtp_num_hidden_layers\": expected 0 or 1, got 2");
  expectError(kNext.with("num_nextn_predict_layers", "2"), "expected 0 or 1");
  EXPECT_TRUE(read(kNext.with("mtp_use_dedicated_embeddings", "true"))
                  .drafter.ownsEmbedding);
  Config moe({{"model_type", "\"qwen3_5_moe_text\""}});
  expectError(moe.with("mlp_only_layers", "[0]"), "\"mlp_only_layers\"");
  expectError(moe.with("decoder_sparse_step", "2"), "\"decoder_sparse_step\"");
  expectError(moe.with("norm_topk_prob", "false"), "\"norm_topk_prob\"");
  expectError(moe.with("num_experts", "0"), "expected at least one expert");
}

/// A wrapper's keys have its text model's prefix; its module's do not.
TEST(Config, ReadsWrappedHybrids) {
  ModelConfig config = read(Config(
      {{"model_type", "\"qwen3_5\""},
       {"tie_word_embeddings", "true"},
       {"text_config",
        "{\"model_type\":\"qwen3_5_text\",\"mtp_num_hidden_layers\":1}"}}));
  EXPECT_TRUE(config.isTied && config.recurrence());
  EXPECT_EQ(config.family, "qwen3_5_text");
  EXPECT_EQ(layerPrefix(config, 3), "model.language_model.layers.3.");
  EXPECT_EQ(modulePrefix(config, 0), "mtp.");
  EXPECT_EQ(moduleLayerPrefix(config, 0), "mtp.layers.0.");
  EXPECT_EQ(moduleMark(config, 0), "mtp.fc.weight");
  EXPECT_EQ(config.drafter.modules, 1);
  expectError(Config({{"model_type", "\"qwen3_5_moe\""}}),
              "\"text_config\": expected an object");
}

TEST(Config, RefusesNearFamilies) {
  Config lite = kDeepSeek.with("model_type", "\"glm4_moe_lite\"");
  EXPECT_TRUE(read(lite).layers[1].isMoe());
  expectError(lite.with("first_k_dense_replace", "2"),
              "the number of dense layers in \"mlp_layer_types\"");
  Config types =
      lite.with("mlp_layer_types", "[\"dense\",\"dense\",\"sparse\"]");
  expectError(types, "\"first_k_dense_replace\"");
  EXPECT_FALSE(read(types.without("first_k_dense_replace")).layers[1].isMoe());
  EXPECT_FALSE(
      read(types.with("first_k_dense_replace", "2")).layers[1].isMoe());
  expectError(lite.with("mlp_layer_types", "[\"dense\"]"), "one type for each");
  expectError(lite.with("mlp_layer_types", "[\"moe\",\"dense\",\"dense\"]"),
              "\"dense\" or \"sparse\"");
  expectError(lite.with("partial_rotary_factor", "0.5"), "expected 1, got 0.5");
  Config dots = kGlm.with("model_type", "\"dots1\"");
  EXPECT_EQ(read(dots.with("max_window_layers", "2")).layers[2].window(), 4096);
  expectError(dots.without("n_routed_experts"), "a number of experts");
  expectError(dots.with("scoring_func", "\"softmax\""), "\"sigmoid\"");
  expectError(
      kLlama.with("model_type", "\"seed_oss\"").with("mlp_bias", "true"),
      "\"mlp_bias\"");
  expectError(lite.with("scoring_func", "\"noaux_tc\""), "\"sigmoid\"");
}

} // namespace
