//===- config_values_test.cpp - Defaults and values of configs ------------===//

#include "ConfigTestUtil.h"

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::importer::test;

namespace {

Config bare(const std::string &family) {
  return Config({{"model_type", "\"" + family + "\""}});
}

/// Absent keys have the defaults of the configuration classes of transformers
/// 5.
TEST(Config, FillsInDefaults) {
  ModelConfig config = read(bare("llama"));
  EXPECT_EQ(config.vocab, 32000);
  EXPECT_EQ(config.hidden, 4096);
  EXPECT_EQ(config.intermediate, 11008);
  EXPECT_EQ(config.layers.size(), 32u);
  EXPECT_EQ(config.maxPositions, 2048);
  EXPECT_EQ(config.gqa->kvHeads, 32);
  EXPECT_EQ(config.normEps, 1e-6);
  EXPECT_EQ(config.generation.bos, 1);
  EXPECT_EQ(config.generation.eos, std::vector<int32_t>{2});
  config = read(bare("llama").with("eos_token_id", "null"));
  EXPECT_TRUE(config.generation.eos.empty());
  config = read(bare("mistral"));
  EXPECT_EQ(config.gqa->kvHeads, 8);
  EXPECT_EQ(config.intermediate, 14336);
  EXPECT_EQ(config.maxPositions, 131072);
  config = read(bare("qwen2"));
  EXPECT_EQ(config.vocab, 151936);
  EXPECT_EQ(config.gqa->headDim, 128);
  EXPECT_TRUE(config.generation.eos.empty());
  EXPECT_EQ(read(bare("mimo")).intermediate, 22016);
  config = read(bare("qwen3").with("hidden_size", "1024"));
  EXPECT_EQ(config.gqa->headDim, 128);
}

TEST(Config, FillsInDefaultsOfExperts) {
  ModelConfig config = read(bare("qwen3_moe"));
  EXPECT_EQ(config.gqa->headDim, 64);
  EXPECT_EQ(config.moe->experts, 128);
  EXPECT_EQ(config.moe->topK, 8);
  EXPECT_EQ(config.moe->width, 768);
  config = read(bare("glm4_moe").with("num_attention_heads", "32"));
  EXPECT_EQ(config.normEps, 1e-5);
  EXPECT_EQ(config.gqa->headDim, 128);
  EXPECT_EQ(config.rope.dim, 64);
  EXPECT_EQ(config.moe->sharedWidth, 1408);
  EXPECT_FALSE(config.layers[0].isMoe);
  EXPECT_TRUE(config.layers[1].isMoe);
  config = read(bare("deepseek_v3"));
  EXPECT_EQ(config.mla->queryRank, 1536);
  EXPECT_EQ(config.mla->latent, 512);
  EXPECT_EQ(config.mla->value, 128);
  EXPECT_EQ(config.moe->experts, 256);
  EXPECT_EQ(config.moe->sharedWidth, 2048);
  EXPECT_EQ(config.moe->groups, 8);
  EXPECT_EQ(config.moe->keptGroups, 4);
  EXPECT_EQ(config.moe->scale, 2.5);
  EXPECT_FALSE(config.layers[2].isMoe);
  EXPECT_TRUE(config.layers[3].isMoe);
  EXPECT_EQ(config.generation.bos, 0);
  EXPECT_EQ(config.generation.eos, std::vector<int32_t>{1});
}

/// A configuration class distinguishes an absent key from null.
TEST(Config, TellsNullFromAbsence) {
  EXPECT_EQ(read(kDeepSeek.without("n_shared_experts")).moe->sharedWidth, 40);
  EXPECT_EQ(read(kDeepSeek.with("n_shared_experts", "null")).moe->sharedWidth,
            0);
  EXPECT_EQ(read(kDeepSeek.without("q_lora_rank")).mla->queryRank, 1536);
  EXPECT_FALSE(
      read(kDeepSeek.with("norm_topk_prob", "null")).moe->isNormalized);
  EXPECT_FALSE(
      read(kDeepSeek.with("rope_interleave", "null")).rope.isInterleaved);
  // The default of one module means that there may be one.
  ModelConfig config = read(kDeepSeek.without("num_nextn_predict_layers"));
  EXPECT_EQ(config.drafter.modules, 0);
  EXPECT_TRUE(config.drafter.isUnsaid);
  EXPECT_FALSE(read(kDeepSeek).drafter.isUnsaid);
  config = read(kDeepSeek.without("num_nextn_predict_layers")
                    .with("num_mtp_layers", "2"));
  EXPECT_EQ(config.drafter.modules, 2);
}

/// A family's modules hand on the state after their norm unless the config says
/// otherwise.
TEST(Config, ReadsWhatModulesHandOn) {
  const char *key = "mtp_hidden_states_post_norm";
  for (const Config &config : {kDeepSeek, kGlm}) {
    EXPECT_TRUE(read(config).drafter.carriesNormed);
    EXPECT_TRUE(read(config.with(key, "null")).drafter.carriesNormed);
    EXPECT_FALSE(read(config.with(key, "false")).drafter.carriesNormed);
    expectError(config.with(key, "\"no\""), "true or false, got \"no\"");
  }
  Config mimo = kLlama.with("model_type", "\"mimo\"");
  EXPECT_TRUE(read(mimo).drafter.carriesNormed);
  expectError(mimo.with(key, "false"), "expected true, got false");
}

TEST(Config, RefusesFeatures) {
  expectError(kLlama.with("hidden_act", "\"gelu\""),
              "\"hidden_act\": expected \"silu\", got \"gelu\"");
  expectError(kLlama.with("mlp_bias", "true"), "expected false, got true");
  expectError(kDeepSeek.with("attention_bias", "true"), "\"attention_bias\"");
  expectError(kDeepSeek.with("scoring_func", "\"softmax\""), "\"sigmoid\"");
  expectError(kDeepSeek.with("topk_method", "\"greedy\""), "\"noaux_tc\"");
  expectError(kLlama.with("torch_dtype", "\"int8\""), "\"torch_dtype\"");
  expectError(kLlama.with("quantization_config", "{\"quant_method\":\"hqq\"}"),
              "\"quantization_config.quant_method\": expected one of "
              "\"auto-round\", ");
  expectError(kLlama.with("quantization_config",
                          "{\"quant_method\":\"fp8\",\"weight_block_size\":"
                          "[64,0]}"),
              "expected two positive integers, got [64,0]");
  expectError(kLlama.with("quantization_config",
                          "{\"quant_method\":\"fp8\",\"fmt\":\"e5m2\"}"),
              "\"quantization_config.fmt\": expected one of \"e4m3\"");
}

TEST(Config, ReadsQuantization) {
  auto type = [](const std::string &fields) {
    return read(kLlama.with("quantization_config", "{" + fields + "}"))
        .storedType;
  };
  EXPECT_EQ(type("\"quant_method\":\"fp8\""), WeightType::F8E4M3);
  EXPECT_EQ(type("\"quant_method\":\"fp8\",\"fmt\":\"e4m3\","
                 "\"weight_block_size\":[128,128]"),
            WeightType::F8E4M3);
  EXPECT_EQ(type("\"quant_method\":\"fp8\",\"weight_block_size\":null"),
            WeightType::F8E4M3);
  // Integers become f32, as F16 does.
  EXPECT_EQ(type("\"quant_method\":\"awq\",\"bits\":4"), WeightType::F16);
}

TEST(Config, RefusesBadValues) {
  for (const char *value : {"-64", "0", "1.5", "\"64\"", "true", "[64]",
                            "99999999999", "18446744073709551615"})
    expectError(kLlama.with("hidden_size", value),
                "config key \"hidden_size\": expected an integer of 1 to "
                "16777216, got ");
  expectError(kLlama.with("num_hidden_layers", "5000"), "1 to 4096, got 5000");
  expectError(kLlama.with("rms_norm_eps", "-1e-5"), "greater than 0");
  expectError(kLlama.with("rms_norm_eps", "\"x\""), "greater than 0");
  expectError(kLlama.with("tie_word_embeddings", "1"), "true or false, got 1");
  expectError(kLlama.with("num_key_value_heads", "3"), "a divisor of the 4");
  expectError(kLlama.with("num_attention_heads", "6"),
              "\"hidden_size\": expected a multiple of");
  expectError(kDeepSeek.with("num_key_value_heads", "2"), "the value of");
  expectError(kDeepSeek.with("n_group", "3"), "\"n_group\"");
  expectError(kDeepSeek.with("n_group", "8"), "two experts in a group");
  expectError(kDeepSeek.with("num_experts_per_tok", "9"), "1 to 8, got 9");
  expectError(kDeepSeek.with("num_experts_per_tok", "5"),
              "no more experts than");
  expectError(kDeepSeek.with("num_nextn_predict_layers", "17"), "0 to 16");
  expectError(kLlama.with("num_attention_heads", "128"),
              "\"head_dim\": expected an integer of 1 to 16777216, got "
              "nothing, for which the default is 0");
  expectError(kQwen3Moe.with("mlp_only_layers", "[\"a\"]"), "in every place");
}

/// The error names the file that contains the id.
TEST(Config, RefusesTokensBeyondTheVocabulary) {
  Config past = kLlama.with("eos_token_id", "127");
  std::string text =
      "config key \"eos_token_id\": expected token ids below the "
      "\"vocab_size\" 127, got 127";
  expectError(past, "config.json: " + text);
  expectError(past.text(), "config.json: " + text, "{\"bos_token_id\":1}");
  expectError(kLlama.text(), "generation_config.json: " + text,
              "{\"eos_token_id\":[3,127]}");
  expectError(kLlama.with("bos_token_id", "500"),
              "config.json: config key \"bos_token_id\"");
  // A value that the second file overrides is not checked.
  EXPECT_EQ(parseModelConfig(past.text(), "{\"eos_token_id\":3}")
                .value()
                .generation.eos,
            std::vector<int32_t>{3});
}

/// Python reads and writes three numbers that JSON does not have.
TEST(Config, ReadsWhatPythonWrites) {
  ModelConfig config =
      read(kLlama.with("time_step_limit", "[0.0,Infinity,-Infinity,NaN]")
               .with("note", "\"NaN \\\"Infinity\\\\\""));
  EXPECT_EQ(config.vocab, 127);
  expectError(kLlama.with("rms_norm_eps", "Infinity"),
              "\"rms_norm_eps\": expected a number greater than 0, got "
              "\"Infinity\"");
  expectError(kLlama.with("hidden_size", "NaN"), "got \"NaN\"");
  expectError(kLlama.with("hidden_size", "Nan"), "expected valid JSON");
  expectError(std::string("{\"a\": \"NaN"), "expected valid JSON");
}

TEST(Config, ReadsModelOpt) {
  auto parse = [](const std::string &modelOpt) {
    return parseModelConfig(kLlama.text(), "", modelOpt).status();
  };
  EXPECT_TRUE(parse("{\"quantization\":{\"quant_algo\":null}}").isOk());
  EXPECT_TRUE(parse("{\"quantization\":{\"quant_algo\":\"NVFP4\"}}").isOk());
  EXPECT_TRUE(parse("{\"producer\":{\"name\":\"modelopt\"}}").isOk());
  std::string text(
      parse("{\"quantization\":{\"quant_algo\":\"NVFP4_SVD\"}}").message());
  EXPECT_NE(text.find("hf_quant_config.json: config key "
                      "\"quantization.quant_algo\": expected one of \"FP8\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("got \"NVFP4_SVD\""), std::string::npos) << text;
}

TEST(Config, RefusesBadJson) {
  expectError(std::string(), "config.json: expected valid JSON");
  expectError(std::string("{"), "expected valid JSON");
  expectError(std::string("[]"), "expected an object, got an array");
  expectError(std::string(1000, '[') + std::string(1000, ']'),
              "nested at most");
  expectError(kLlama.text(), "generation_config.json: expected valid JSON",
              "{");
}

/// Python's spelling of "no limit" (jzhang38/TinyLlama#23,
/// sgl-project/sglang#37054). The last value of a duplicate key counts.
TEST(Config, ReadsJsonAsPythonDoes) {
  const std::string huge = "1000000000000000019884624838656";
  EXPECT_EQ(read(kLlama.with("max_sequence_length", huge)
                     .with("rope_theta", "100000000000000000000"))
                .rope.theta,
            1e20);
  EXPECT_EQ(read(kLlama, "{\"max_length\":" + huge + ",\"eos_token_id\":7}")
                .generation.eos,
            std::vector<int32_t>{7});
  EXPECT_TRUE(parseModelConfig(kLlama.text(), "",
                               "{\"quantization\":{\"group_size\":" + huge +
                                   "},\"quantization\":{}}")
                  .isOk());
  expectError(kLlama.with("num_hidden_layers", huge),
              "expected an integer of 1 to 4096, got 1e+30");
  std::string twice = kLlama.text();
  twice.insert(1, "\"vocab_size\":1,\"tie_word_embeddings\":true,");
  twice.insert(twice.size() - 1, ",\"tie_word_embeddings\":null");
  Result<ModelConfig> config = parseModelConfig(twice, "");
  ASSERT_TRUE(config.isOk()) << config.status().toString();
  EXPECT_EQ(config->vocab, 127);
  EXPECT_FALSE(config->isTied);
}

TEST(Config, ReadsGeneration) {
  ModelConfig config =
      read(kLlama, "{\"bos_token_id\":1,\"eos_token_id\":[5,6],"
                   "\"do_sample\":true,\"temperature\":0.6,\"top_p\":0.95,"
                   "\"top_k\":20}");
  EXPECT_EQ(config.generation.bos, 1);
  EXPECT_EQ(config.generation.eos, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(config.generation.temperature, 0.6);
  EXPECT_EQ(config.generation.topK, 20);
  EXPECT_FALSE(config.generation.minP);
  config = read(kLlama, "{\"temperature\":0.6}");
  EXPECT_FALSE(config.generation.temperature);
  EXPECT_EQ(config.generation.eos, std::vector<int32_t>{2});
}

} // namespace
