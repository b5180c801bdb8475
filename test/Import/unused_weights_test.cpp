//===- unused_weights_test.cpp - Weights that the model does not use ------===//

#include "compiler/Import/checkpoint/UnusedWeights.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::test;

namespace {

using Keys = std::vector<std::string>;

class Unused : public testing::Test {
protected:
  Unused() { config.layers.resize(2); }

  void add(const std::string &key, float value = 0) {
    builder.addF32(key, {2, 2}, std::vector<float>(4, value));
  }

  WeightTable table() {
    folder.write("model.safetensors", builder.build());
    WeightTable table(WeightType::F32, std::nullopt);
    Status status = table.open(folder.path());
    EXPECT_TRUE(status.isOk()) << status.toString();
    return table;
  }

  TemporaryFolder folder;
  FileBuilder builder;
  ModelConfig config;
};

TEST_F(Unused, AreSorted) {
  for (const char *key :
       {"model.layers.0.w", "model.layers.1.w", "model.layers.1.b",
        "model.layers.0.self_attn.rotary_emb.inv_freq", "model.norm.bias",
        "layers.b", "x.layers.7.w", "lm_head.weight"})
    add(key);
  WeightTable weights = table();
  const Keys prefixes = {"model.layers.0.", "model.layers.1."};
  const int64_t shape[] = {2, 2};
  ASSERT_TRUE(weights.resolve(prefixes, "w", shape, 0).isOk());
  UnusedWeights unused = findUnusedWeights(weights, config, {});
  EXPECT_EQ(unused.inLayers, (Keys{"model.layers.1.b", "x.layers.7.w"}));
  EXPECT_EQ(unused.elsewhere,
            (Keys{"layers.b", "lm_head.weight", "model.norm.bias"}));
  config.isTied = true;
  unused = findUnusedWeights(weights, config, {});
  EXPECT_EQ(unused.elsewhere, (Keys{"layers.b", "model.norm.bias"}));
}

TEST_F(Unused, KnowScales) {
  builder.add("a.w", "F8_E4M3", {2, 2}, std::string(4, '\0'));
  builder.addF32("a.w_scale_inv", {1, 1}, {1});
  builder.addF32("b.w_scale_inv", {1, 1}, {1});
  WeightTable weights = table();
  const Keys prefixes = {"a."};
  const int64_t shape[] = {2, 2};
  ASSERT_TRUE(weights.resolve(prefixes, "w", shape, 0).isOk());
  EXPECT_EQ(weights.unused(), Keys{"b.w_scale_inv"});
}

/// Scales follow their tensor, used or not (vllm#32101).
TEST_F(Unused, KnowScalesOfLeftOutTensors) {
  config.drafter.style = DrafterStyle::DeepSeek;
  config.drafter.modules = 1;
  add("model.layers.2.eh_proj.weight");
  for (std::string key : {"model.layers.2.shared_head.head.weight",
                          "model.layers.0.w", "lm_head.weight"}) {
    builder.add(key, "F8_E4M3", {2, 2}, std::string(4, '\0'));
    builder.addF32(key + "_scale_inv", {1, 1}, {1});
  }
  WeightTable weights = table();
  UnusedWeights unused = findUnusedWeights(weights, config, {1});
  EXPECT_EQ(unused.inLayers,
            (Keys{"model.layers.0.w", "model.layers.2.eh_proj.weight"}));
  EXPECT_EQ(unused.elsewhere, Keys{"lm_head.weight"});
}

/// Modules that the config announces, or that the caller asked to leave out,
/// are not reported. A module's copies of shared matrices are never reported.
TEST_F(Unused, KnowModules) {
  for (const char *key :
       {"model.layers.2.eh_proj.weight", "model.layers.2.embed_tokens.weight",
        "model.layers.2.shared_head.head.weight",
        "model.layers.3.eh_proj.weight", "model.layers.4.w"})
    add(key);
  WeightTable weights = table();
  Keys modules = {"model.layers.2.eh_proj.weight",
                  "model.layers.3.eh_proj.weight", "model.layers.4.w"};
  config.drafter.style = DrafterStyle::DeepSeek;
  EXPECT_EQ(findUnusedWeights(weights, config, {}).inLayers, modules);
  config.drafter.modules = 1;
  EXPECT_EQ(findUnusedWeights(weights, config, {}).inLayers,
            (Keys{modules[1], modules[2]}));
  EXPECT_EQ(findUnusedWeights(weights, config, {0, true}).inLayers,
            Keys{modules[2]});
  // In a family without modules these are extra layers.
  config.drafter = {};
  EXPECT_EQ(findUnusedWeights(weights, config, {0, true}).inLayers.size(), 5u);
}

TEST_F(Unused, AreListed) {
  EXPECT_EQ(listKeys({"a"}), "1: \"a\"");
  EXPECT_EQ(listKeys({"a", "b", "c", "d", "e"}),
            "5: \"a\", \"b\", \"c\" and 2 more");
}

TEST_F(Unused, EqualityIsOfValues) {
  add("a", 1);
  add("b", 1);
  add("c", 2);
  add("plus", 0.0f);
  add("minus", -0.0f);
  builder.addBF16("bf16", {2, 2}, std::vector<float>(4, 1));
  builder.addF32("long", {4, 1}, std::vector<float>(4, 1));
  WeightTable weights = table();
  EXPECT_TRUE(weights.areEqual("a", "b").value());
  EXPECT_FALSE(weights.areEqual("a", "c").value());
  EXPECT_TRUE(weights.areEqual("plus", "minus").value());
  EXPECT_TRUE(weights.areEqual("a", "bf16").value());
  EXPECT_FALSE(weights.areEqual("a", "long").value());
  EXPECT_FALSE(weights.areEqual("a", "none").isOk());
}

/// Equal bytes of FP8 have different values under different scales.
TEST_F(Unused, EqualityHeedsScales) {
  for (std::string key : {"a", "b", "c"}) {
    builder.add(key, "F8_E4M3", {2, 2}, std::string(4, '\x38'));
    builder.addF32(key + "_scale_inv", {1, 1}, {key == "c" ? 2.0f : 1.0f});
  }
  builder.addF32("two", {2, 2}, std::vector<float>(4, 2));
  WeightTable weights = table();
  EXPECT_TRUE(weights.areEqual("a", "b").value());
  EXPECT_FALSE(weights.areEqual("a", "c").value());
  EXPECT_TRUE(weights.areEqual("c", "two").value());
}

} // namespace
