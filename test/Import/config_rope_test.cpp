//===- config_rope_test.cpp - Rotary embeddings in configs ----------------===//

#include "ConfigTestUtil.h"

#include <cmath>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::importer::test;

namespace {

TEST(Config, ReadsRopeScaling) {
  ModelConfig config = read(kLlama.with(
      "rope_scaling",
      "{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
      "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":32}"));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::Llama3);
  EXPECT_EQ(config.attention()->rope.originalMaxPosition, 32);
  config =
      read(kLlama.with("rope_scaling", "{\"type\":\"linear\",\"factor\":2}"));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::Linear);
  config = read(kLlama.with("rope_parameters",
                            "{\"rope_type\":\"default\",\"rope_theta\":5e5}"));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::None);
  EXPECT_EQ(config.attention()->rope.theta, 5e5);
}

/// The order in which transformers 5 reads the keys.
TEST(Config, RanksRopeKeys) {
  std::string yarn = "{\"rope_type\":\"yarn\",\"factor\":4,"
                     "\"original_max_position_embeddings\":32}";
  std::string plain = "{\"rope_type\":\"default\",\"rope_theta\":5e5}";
  Config both = kLlama.with("rope_parameters", plain);
  ModelConfig config = read(both.with("rope_scaling", yarn));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::Yarn);
  EXPECT_EQ(config.attention()->rope.theta, 10000.0);
  EXPECT_EQ(read(both.with("rope_scaling", "{}")).attention()->rope.theta, 5e5);
  EXPECT_EQ(read(both.with("rope_scaling", "null")).attention()->rope.theta,
            5e5);
  config = read(kLlama.with("rope_scaling", yarn)
                    .with("original_max_position_embeddings", "64"));
  EXPECT_EQ(config.attention()->rope.originalMaxPosition, 64);
  expectError(both.with("rope_parameters",
                        "{\"full_attention\":{\"rope_type\":\"default\"}}"),
              "\"rope_parameters.full_attention\": expected one set of "
              "parameters for all layers");
}

/// Frequencies of "dynamic" change only beyond max_position_embeddings.
TEST(Config, ReadsDynamicRope) {
  ModelConfig config =
      read(kLlama.with("rope_scaling", "{\"type\":\"dynamic\",\"factor\":2}"));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::None);
  EXPECT_EQ(config.attention()->rope.factor, 1.0);
  EXPECT_EQ(config.maxPositions, 512);
  expectError(kLlama.with("rope_scaling", "{\"type\":\"dynamic\"}"),
              "\"rope_scaling.factor\"");
}

/// Only GLM's code rotates part of a head.
TEST(Config, ReadsPartialRotation) {
  Config partial = kLlama.with("partial_rotary_factor", "0.5");
  EXPECT_EQ(read(partial).attention()->rope.dim, 16);
  EXPECT_EQ(
      read(kGlm.with("partial_rotary_factor", "1.0")).attention()->rope.dim,
      16);
  EXPECT_EQ(
      read(kGlm.with("rope_parameters", "{\"partial_rotary_factor\":0.25}"))
          .attention()
          ->rope.dim,
      4);
  expectError(partial.with("rope_scaling", "{\"type\":\"linear\","
                                           "\"factor\":2}"),
              "\"rope_scaling.type\": expected \"default\" with "
              "\"partial_rotary_factor\" in this family, got \"linear\"");
}

/// DeepSeek's own settings: cosines are unscaled, and the attention's scale is
/// multiplied by (0.1 ln 40 + 1)^2.
TEST(Config, ReadsYarn) {
  std::string yarn = "{\"type\":\"yarn\",\"factor\":40,\"beta_fast\":32,"
                     "\"beta_slow\":1,\"mscale\":1.0,\"mscale_all_dim\":1.0,"
                     "\"original_max_position_embeddings\":4096}";
  double magnitude = 0.1 * std::log(40.0) + 1.0;
  ModelConfig config = read(kDeepSeek.with("rope_scaling", yarn));
  EXPECT_EQ(config.attention()->rope.scaling, RopeScalingKind::Yarn);
  EXPECT_DOUBLE_EQ(config.attention()->rope.attentionFactor, 1.0);
  EXPECT_DOUBLE_EQ(config.attention()->rope.scaleFactor, magnitude * magnitude);
  // Other families keep the scale; without the two settings cosines are scaled.
  EXPECT_EQ(
      read(kLlama.with("rope_scaling", yarn)).attention()->rope.scaleFactor,
      1.0);
  // DeepSeek's code scales attention with any scaling of frequencies.
  EXPECT_DOUBLE_EQ(
      read(kDeepSeek.with("rope_scaling", "{\"type\":\"linear\",\"factor\":40,"
                                          "\"mscale_all_dim\":1.0}"))
          .attention()
          ->rope.scaleFactor,
      magnitude * magnitude);
  EXPECT_EQ(read(kDeepSeek.with("rope_scaling", "{\"mscale_all_dim\":1.0,"
                                                "\"factor\":40}"))
                .attention()
                ->rope.scaleFactor,
            1.0);
  EXPECT_EQ(read(kLlama.with("rope_scaling",
                             "{\"type\":\"yarn\",\"factor\":null,"
                             "\"original_max_position_embeddings\":64}"))
                .attention()
                ->rope.factor,
            8.0);
  config = read(
      kLlama.with("rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":40}"));
  EXPECT_DOUBLE_EQ(config.attention()->rope.attentionFactor, magnitude);
  EXPECT_EQ(config.attention()->rope.originalMaxPosition, 512);
}

TEST(Config, RefusesBadRopes) {
  auto rope = [](const std::string &fields) {
    return kLlama.with("rope_scaling", "{" + fields + "}");
  };
  expectError(rope("\"type\":\"mrope\""),
              "\"rope_scaling.type\": expected \"default\", \"dynamic\", "
              "\"linear\", \"llama3\" or \"yarn\", got \"mrope\"");
  expectError(rope("\"rope_type\":\"longrope\""),
              "\"rope_scaling.rope_type\": \"longrope\" is not supported: its "
              "frequencies change");
  expectError(rope("\"rope_type\":3"), "expected a string, got 3");
  expectError(rope("\"type\":\"linear\""), "\"rope_scaling.factor\"");
  expectError(rope("\"type\":\"linear\",\"factor\":-2"), "greater than 0");
  expectError(rope("\"type\":\"yarn\",\"factor\":2,\"beta_fast\":0.5"),
              "\"beta_fast\" at most");
  RopeConfig equal = read(rope("\"type\":\"yarn\",\"factor\":2,\"beta_fast\":1,"
                               "\"beta_slow\":1"))
                         .attention()
                         ->rope;
  EXPECT_EQ(equal.betaFast, equal.betaSlow);
  expectError(rope("\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,"
                   "\"high_freq_factor\":1"),
              "less than \"high_freq_factor\"");
  expectError(kLlama.with("rope_scaling", "[]"), "expected an object, got []");
  expectError(kLlama.with("rope_theta", "0"), "greater than 0, got 0");
  expectError(kGlm.with("partial_rotary_factor", "1.5"), "at most 1");
  expectError(kLlama.with("head_dim", "15"), "even number of rotating");
}

const char *const kScaledYarn =
    "{\"type\":\"yarn\",\"factor\":16.0,\"rope_theta\":1000000.0,"
    "\"original_max_position_embeddings\":16384,"
    "\"llama_4_scaling_beta\":0.1}";

TEST(Config, ReadsMinistral3) {
  Config config({{"model_type", "\"ministral3\""}});
  ModelConfig scaled = read(config.with("rope_parameters", kScaledYarn));
  EXPECT_EQ(scaled.plainPositions, 16384);
  EXPECT_EQ(scaled.maxPositions, 262144);
  EXPECT_EQ(scaled.attention()->gqa->headDim, 128);
  EXPECT_EQ(scaled.layers[0].window(), 0);
  EXPECT_EQ(read(config.with("rope_parameters", "{\"rope_type\":\"default\","
                                                "\"llama_4_scaling_beta\":0}"))
                .plainPositions,
            0);
  expectError(config, "\"rope_parameters\": expected the rotary parameters");
  expectError(config.with("rope_parameters", "{\"rope_theta\":1e6}"),
              "\"rope_parameters.llama_4_scaling_beta\": expected a number");
  expectError(config.with("rope_parameters", "{\"llama_4_scaling_beta\":0.1}"),
              "\"rope_parameters.original_max_position_embeddings\"");
}

/// The limit is the length that the scaling reaches (vllm#10293, open-r1#645).
TEST(Config, ReadsHowFarAScalingReaches) {
  auto reach = [](const std::string &scaling) {
    return read(kLlama.with("rope_scaling", scaling))
        .attention()
        ->rope.scaledPositions;
  };
  EXPECT_EQ(reach("{\"rope_type\":\"yarn\",\"factor\":4.0,"
                  "\"original_max_position_embeddings\":128}"),
            512);
  EXPECT_EQ(reach("{\"rope_type\":\"yarn\",\"factor\":2.5}"), 1280);
  EXPECT_EQ(reach("{\"type\":\"linear\",\"factor\":4}"), 2048);
  EXPECT_EQ(reach("{\"type\":\"linear\",\"factor\":1e30}"), int64_t(1) << 31);
  EXPECT_EQ(reach("{\"type\":\"dynamic\",\"factor\":4}"), 0);
  EXPECT_EQ(reach("{\"rope_type\":\"llama3\",\"factor\":8,"
                  "\"low_freq_factor\":1,\"high_freq_factor\":4,"
                  "\"original_max_position_embeddings\":128}"),
            0);
  EXPECT_EQ(read(kLlama).attention()->rope.scaledPositions, 0);
}

} // namespace
