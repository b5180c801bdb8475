//===- checkpoint_test.cpp - Keys and modules of a checkpoint -------------===//

#include "compiler/Import/checkpoint/Checkpoint.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>
#include <set>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::test;

namespace {

class Checkpoint : public testing::Test {
protected:
  Checkpoint() {
    config.layers.resize(2);
    config.drafter.style = DrafterStyle::DeepSeek;
    config.drafter.modules = 1;
  }

  static FileBuilder &add(FileBuilder &file, const std::string &key,
                          float value = 0) {
    return file.addF32(key, {2, 2}, std::vector<float>(4, value));
  }

  WeightTable table() {
    add(model, "model.embed_tokens.weight", 1);
    add(model, "lm_head.weight", 2);
    folder.write("model.safetensors", model.build());
    WeightTable table(WeightType::F32, std::nullopt);
    Status status = table.open(folder.path());
    EXPECT_TRUE(status.isOk()) << status.toString();
    return table;
  }

  std::string layoutOf(std::set<std::string> keys) {
    ModelConfig settled = config;
    settleLayout(settled,
                 [&](const std::string &key) { return keys.contains(key); });
    return settled.keys().trunk + "|" + settled.keys().head;
  }

  void expectError(const Status &status, const std::string &text) {
    EXPECT_NE(status.message().find(text), std::string_view::npos)
        << status.toString();
  }

  TemporaryFolder folder;
  FileBuilder model, beside;
  ModelConfig config;
};

/// Report k: transformers' base_model_prefix.
TEST_F(Checkpoint, MayLackTheClassesPrefix) {
  const std::set<std::string> base = {"embed_tokens.weight", "norm.weight",
                                      "layers.0.input_layernorm.weight"};
  EXPECT_EQ(layoutOf({}), "model.|lm_head.weight");
  EXPECT_EQ(layoutOf({"model.embed_tokens.weight"}), "model.|lm_head.weight");
  EXPECT_EQ(layoutOf(base), "|lm_head.weight");
  auto with = [&](const char *key) {
    std::set<std::string> keys = base;
    keys.insert(key);
    return layoutOf(keys);
  };
  EXPECT_EQ(with("lm_head.weight"), "|lm_head.weight");
  EXPECT_EQ(with("model.embed_tokens.weight"), "model.|lm_head.weight");
  // A drafter's keys do not make a model without a prefix.
  for (const char *key : {"fc.weight", "d2t", "hidden_norm.weight",
                          "midlayer.self_attn.q_proj.weight"})
    EXPECT_EQ(with(key), "model.|lm_head.weight") << key;
  EXPECT_EQ(layoutOf({"embed_tokens.weight", "layers.0.w"}),
            "model.|lm_head.weight");
  // A text model within another model: the head has one key in both layouts.
  config.layouts = {{"model.language_model.", "lm_head.weight"},
                    {"language_model.model.", "language_model.lm_head.weight"}};
  EXPECT_EQ(layoutOf({"lm_head.weight", "language_model.embed_tokens.weight",
                      "language_model.norm.weight",
                      "language_model.layers.0.input_layernorm.weight"}),
            "language_model.|lm_head.weight");
  EXPECT_EQ(layoutOf({"language_model.model.norm.weight",
                      "language_model.lm_head.weight"}),
            "language_model.model.|language_model.lm_head.weight");
}

/// The module is in a file beside the model (vllm#35548, ms-swift#7848,
/// omlx#1944).
TEST_F(Checkpoint, FindsModulesBeside) {
  add(beside, "model.layers.2.eh_proj.weight");
  folder.write("mtp.safetensors", beside.build());
  folder.write("other.safetensors",
               FileBuilder().addF32("x", {1}, {1}).build());
  WeightTable weights = table();
  ASSERT_TRUE(findModules(folder.path(), config, weights).isOk());
  EXPECT_TRUE(weights.contains("model.layers.2.eh_proj.weight"));
  EXPECT_EQ(weights.sources().size(), 2u);
  EXPECT_TRUE(checkModules(config, weights, 1).isOk());
}

TEST_F(Checkpoint, FindsModulesThatNoKeyAnnounces) {
  config.drafter.modules = 0;
  config.drafter.isUnsaid = true;
  add(beside, "model.layers.2.eh_proj.weight");
  folder.write("mtp.safetensors", beside.build());
  WeightTable weights = table();
  ASSERT_TRUE(findModules(folder.path(), config, weights).isOk());
  EXPECT_EQ(config.drafter.modules, 1);
}

/// Prefixes of the keys of Qwen's modules (omlx#2220).
TEST_F(Checkpoint, FindsQwensModulesByAnyRoot) {
  config.drafter.style = DrafterStyle::Qwen;
  add(beside, "language_model.mtp.fc.weight");
  folder.write("mtp.safetensors", beside.build());
  WeightTable weights = table();
  ASSERT_TRUE(findModules(folder.path(), config, weights).isOk());
  EXPECT_EQ(modulePrefix(config, 0), "language_model.mtp.");
  EXPECT_TRUE(checkModules(config, weights, 1).isOk());
}

/// The usual result of fine-tuning a model (vllm#35548, TensorRT-LLM#17378).
TEST_F(Checkpoint, NamesMissingModules) {
  WeightTable weights = table();
  ASSERT_TRUE(findModules(folder.path(), config, weights).isOk());
  EXPECT_TRUE(checkModules(config, weights, 0).isOk());
  Status status = checkModules(config, weights, 1);
  expectError(status, "expected 1 MTP module, as \"num_nextn_predict_layers\": "
                      "1 in config.json says, but the weights contain no "
                      "module");
  expectError(status, "import with -k 0 ");
}

TEST_F(Checkpoint, CountsModulesThatAreThere) {
  config.drafter.modules = 3;
  config.drafter.key = "num_mtp_layers";
  add(model, "model.layers.2.eh_proj.weight");
  WeightTable weights = table();
  EXPECT_TRUE(checkModules(config, weights, 1).isOk());
  Status status = checkModules(config, weights, 2);
  expectError(status, "expected 3 MTP modules, as \"num_mtp_layers\"");
  expectError(status, "contain 1 of them");
  expectError(status, "-k 1 to draft with these, or with -k 0");
}

/// A partial module is accepted here; its missing key is reported later.
TEST_F(Checkpoint, LeavesModulesInPartsToTheirKeys) {
  add(model, "model.layers.2.enorm.weight");
  WeightTable weights = table();
  EXPECT_TRUE(checkModules(config, weights, 1).isOk());
}

/// Equal copies are dropped, others are used (vllm#38493, vllm-ascend#2790).
TEST_F(Checkpoint, FindsTablesOfModules) {
  struct Case {
    DrafterStyle style;
    std::string prefix;
  };
  for (const Case &c : {Case{DrafterStyle::DeepSeek, "model.layers.2."},
                        Case{DrafterStyle::Hy3, "model.layers.2."},
                        Case{DrafterStyle::MiMo, "model.mtp_layers.0."},
                        Case{DrafterStyle::Qwen, "mtp."}})
    for (std::string head :
         {"shared_head.head.weight", "lm_head.weight", "head.weight"}) {
      SCOPED_TRACE(c.prefix + head);
      config.drafter.style = c.style;
      model = FileBuilder();
      add(model, c.prefix + "embed_tokens.weight", 1);
      add(model, c.prefix + head, 3);
      auto find = [&](const WeightTable &weights) {
        Status status = findOwnTables(
            config, weights, 1, "model.embed_tokens.weight", "lm_head.weight");
        EXPECT_TRUE(status.isOk()) << status.toString();
        return config.drafter.own.front();
      };
      EXPECT_EQ(find(table()), (OwnTables{"", head}));
      model = FileBuilder();
      add(model, c.prefix + "embed_tokens.weight", -1);
      add(model, c.prefix + head, 2);
      EXPECT_EQ(find(table()), (OwnTables{"embed_tokens.weight", ""}));
      EXPECT_TRUE(isTable(c.prefix + head));
    }
  EXPECT_FALSE(isTable("model.layers.2.mlp.head_norm.weight"));
}

TEST_F(Checkpoint, WantsTheEmbeddingThatIsAnnounced) {
  config.drafter.ownsEmbedding = true;
  expectError(findOwnTables(config, table(), 1, "model.embed_tokens.weight",
                            "lm_head.weight"),
              "\"mtp_use_dedicated_embeddings\": expected false, or the weight "
              "\"model.layers.2.embed_tokens.weight\"");
}

} // namespace
