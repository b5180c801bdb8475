//===- config_gemma_test.cpp - Configs of Gemma 3 -------------------------===//

#include "ConfigTestUtil.h"

#include <cmath>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::importer::test;

namespace {

/// A config of Gemma 3 in the old spelling, with the class's defaults for
/// absent keys.
Config gemma3() {
  return Config({{"model_type", "\"gemma3_text\""},
                 {"hidden_size", "640"},
                 {"num_hidden_layers", "8"},
                 {"sliding_window", "512"}});
}

TEST(Config, ReadsGemma3) {
  ModelConfig config = read(gemma3());
  EXPECT_TRUE(config.isTied);
  EXPECT_EQ(config.vocab, 262208);
  EXPECT_EQ(config.norm.offset, 1);
  // The root of 640, 25.298, rounded to bf16.
  EXPECT_EQ(config.embeddingScale, 25.25);
  EXPECT_EQ(config.generation.bos, 2);
  const LayerConfig &local = config.layers[4], &whole = config.layers[5];
  EXPECT_EQ(local, config.layers[6]);
  EXPECT_EQ(local.window(), 512);
  EXPECT_EQ(local.mixer.attention->rope.theta, 10000.0);
  EXPECT_EQ(whole.window(), 0);
  EXPECT_EQ(whole.mixer.attention->rope.theta, 1000000.0);
  EXPECT_EQ(whole.feed, local.feed);
  EXPECT_EQ(whole.feed.activation, Activation::GeluTanh);
  EXPECT_EQ(whole.feed.norms.before, "pre_feedforward_layernorm");
  EXPECT_EQ(whole.mixer.norms.after, "post_attention_layernorm");
  EXPECT_TRUE(whole.mixer.attention->gqa->hasQkNorm);
  EXPECT_EQ(whole.mixer.attention->gqa->scaleWidth, 256);
  EXPECT_EQ(read(gemma3().with("torch_dtype", "\"float32\"")).embeddingScale,
            double(std::sqrt(640.0f)));
  EXPECT_EQ(read(gemma3().with("torch_dtype", "\"float16\"")).embeddingScale,
            25.296875);
  EXPECT_EQ(
      read(gemma3().with("sliding_window_pattern", "2")).layers[1].window(), 0);
}

/// Each type of layer has its rotation. The limit of positions contains the
/// factor of the scaling.
TEST(Config, ReadsRotationsByTypeOfLayer) {
  ModelConfig old = read(gemma3().with(
      "rope_scaling", "{\"rope_type\":\"linear\",\"factor\":8.0}"));
  EXPECT_EQ(old.layers[5].mixer.attention->rope.factor, 8.0);
  EXPECT_EQ(old.layers[5].mixer.attention->rope.scaledPositions, 0);
  EXPECT_EQ(old.layers[0].mixer.attention->rope.factor, 1.0);
  ModelConfig typed = read(gemma3().with(
      "rope_parameters",
      "{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":4.0,"
      "\"rope_theta\":5000.0},"
      "\"sliding_attention\":{\"rope_type\":\"default\","
      "\"rope_theta\":300.0}}"));
  EXPECT_EQ(typed.layers[5].mixer.attention->rope.factor, 4.0);
  EXPECT_EQ(typed.layers[5].mixer.attention->rope.theta, 5000.0);
  EXPECT_EQ(typed.layers[0].mixer.attention->rope.theta, 300.0);
  expectError(gemma3().with("rope_parameters", "{\"rope_theta\":1e4}"),
              "\"rope_parameters\": expected parameters for each type of "
              "layer");
  expectError(gemma3().with("final_logit_softcapping", "30.0"),
              "\"final_logit_softcapping\"");
  expectError(gemma3().with("hidden_activation", "\"gelu\""),
              "\"hidden_activation\"");
  expectError(gemma3().with("use_bidirectional_attention", "true"),
              "\"use_bidirectional_attention\"");
}

} // namespace
