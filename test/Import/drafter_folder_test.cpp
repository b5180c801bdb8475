//===- drafter_folder_test.cpp - Drafters in folders, and their trees -----===//

#include "compiler/Import/config/ConfigReader.h"
#include "compiler/Import/drafters/DrafterFolder.h"
#include "compiler/Import/plan/DraftTree.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::test;

namespace {

template <typename T>
void expectError(const Result<T> &result, const std::string &text) {
  ASSERT_FALSE(result.isOk()) << "expected: " << text;
  EXPECT_NE(result.status().message().find(text), std::string_view::npos)
      << result.status().toString();
}

const std::string kLayers =
    R"("hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
       "head_dim": 16, "intermediate_size": 96,
       "vocab_size": 127, "num_hidden_layers": 1)";

/// Returns a target of `layers` layers.
ModelConfig target(const std::string &layers = "32") {
  return *parseModelConfig(R"({"model_type": "llama", "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 127,
      "num_hidden_layers": )" + layers +
                               "}",
                           "{}");
}

Result<DrafterFolder> parse(const std::string &keys,
                            const ModelConfig &model = target(),
                            std::optional<FolderMethod> method = {}) {
  return parseDrafter("{" + keys + "}", nullptr, model, method);
}

/// Returns the method recognised from a file's tensors, for any config.
std::string methodOf(std::initializer_list<const char *> tensors) {
  TemporaryFolder folder;
  FileBuilder builder;
  for (const char *tensor : tensors)
    builder.addF32(tensor, {1}, {1});
  std::string path = folder.write("model.safetensors", builder.build());
  auto weights = WeightSet::openFiles({&path, 1});
  EXPECT_TRUE(weights.isOk()) << weights.status().toString();
  auto drafter = parseDrafter("{" + kLayers + "}", &*weights, target(), {});
  return drafter ? std::string(toString(drafter->method))
                 : drafter.status().toString();
}

/// A draft model whose keys lack its class's prefix.
TEST(DrafterFolder, MayLackTheClassesPrefix) {
  TemporaryFolder folder;
  FileBuilder builder;
  for (const char *tensor :
       {"embed_tokens.weight", "norm.weight", "lm_head.weight",
        "layers.0.input_layernorm.weight", "layers.0.self_attn.q_proj.weight"})
    builder.addF32(tensor, {1}, {1});
  std::string path = folder.write("model.safetensors", builder.build());
  auto weights = WeightSet::openFiles({&path, 1});
  ASSERT_TRUE(weights.isOk()) << weights.status().toString();
  auto drafter = parseDrafter(R"({"model_type": "llama", )" + kLayers + "}",
                              &*weights, target(), {});
  ASSERT_TRUE(drafter.isOk()) << drafter.status().toString();
  EXPECT_EQ(drafter->method, FolderMethod::Model);
  EXPECT_EQ(drafter->embedding, "embed_tokens.weight");
  EXPECT_EQ(drafter->head, "lm_head.weight");
  EXPECT_EQ(drafter->layerPrefixes, std::vector<std::string>{"layers.0."});
}

TEST(DrafterFolder, IsToldByItsTensors) {
  EXPECT_EQ(methodOf({"fc.weight", "layers.0.self_attn.q_proj.weight"}),
            "eagle");
  EXPECT_EQ(methodOf({"0.0.linear.weight", "0.1.weight"}), "medusa");
  EXPECT_EQ(methodOf({"blocks.0.layers.0.weight", "lm_heads.0.weight"}),
            "medusa");
  // Read as a block drafter, the block's size is missing.
  EXPECT_NE(methodOf({"fc.weight", "hidden_norm.weight", "norm.weight"})
                .find("block_size"),
            std::string::npos);
  // Read as EAGLE-3, its projection is missing.
  EXPECT_NE(methodOf({"midlayer.self_attn.q_proj.weight"}).find("fc.weight"),
            std::string::npos);
  EXPECT_NE(
      methodOf({"other.weight"}).find("expected the tensors of a drafter"),
      std::string::npos);
  EXPECT_NE(methodOf({"extra_heads.0.attention.wq.weight"}).find("\"dim\""),
            std::string::npos);
  // P-EAGLE is recognised by the row of its masks; its projection is missing
  // too.
  EXPECT_NE(methodOf({"mask_hidden", "fc.weight", "norm.weight"})
                .find("\"fc.weight\": expected a matrix"),
            std::string::npos);
}

TEST(DrafterFolder, IsToldByItsConfigWithoutTensors) {
  auto method = [](const std::string &keys) {
    auto drafter = parse(keys + ", " + kLayers);
    return drafter ? std::string(toString(drafter->method))
                   : drafter.status().toString();
  };
  EXPECT_EQ(method(R"("architectures": ["LlamaForCausalLMEagle3"])"), "eagle3");
  EXPECT_EQ(method(R"("draft_vocab_size": 100)"), "eagle3");
  EXPECT_EQ(method(R"("architectures": ["EagleLlamaForCausalLM"])"), "eagle");
  EXPECT_EQ(method(R"("medusa_num_heads": 3)"), "medusa");
  EXPECT_EQ(method(R"("pard_token": 5, "model_type": "llama")"), "pard");
  EXPECT_EQ(method(R"("architectures": ["PeagleLlamaForCausalLM"],
                      "ptd_token_id": 5)"),
            "p-eagle");
  EXPECT_EQ(method(R"("dim": 64, "n_heads": 4)"), "heads");
  expectError(parse(kLayers), "say so with --method");
  expectError(parse(R"("architectures": ["DFlash2DraftModel"], )" + kLayers),
              "got one of \"dflash2\"");
  EXPECT_EQ(method(R"("architectures": ["DFlashDraftModel"], "block_size": 4,
                      "mask_token_id": 1)"),
            "dflash");
  EXPECT_EQ(method(R"("architectures": ["Qwen3DSparkModel"], "block_size": 4,
                      "mask_token_id": 1, "markov_rank": 0)"),
            "dspark");
  auto said = parse(kLayers, target(), FolderMethod::Eagle);
  EXPECT_TRUE(said.isOk()) << said.status().toString();
}

TEST(DrafterFolder, TapsByDefaultAndByEachConvention) {
  auto taps = [](const std::string &keys, const std::string &layers) {
    auto drafter = parse(R"("architectures": ["X-Eagle3"], )" + keys + kLayers,
                         target(layers));
    EXPECT_TRUE(drafter.isOk()) << drafter.status().toString();
    return drafter->eagle.taps;
  };
  using Taps = std::vector<int64_t>;
  EXPECT_EQ(taps("", "32"), (Taps{2, 16, 29}));
  EXPECT_EQ(taps("", "36"), (Taps{2, 18, 33}));
  EXPECT_EQ(taps("", "80"), (Taps{2, 40, 77}));
  EXPECT_EQ(taps(R"("eagle_aux_hidden_state_layer_ids": [1, 32], )", "32"),
            (Taps{1, 32}));
  EXPECT_EQ(
      taps(R"("eagle_config": {"eagle_aux_hidden_state_layer_ids": [4]}, )",
           "32"),
      (Taps{4}));
  // DeepSpec names layers by their output, with -1 for the embedding.
  EXPECT_EQ(taps(R"("target_layer_ids": [-1, 9, 31], )", "32"),
            (Taps{0, 10, 32}));
  for (const char *ids : {"[33]", "[-1]"})
    expectError(parse(R"("eagle_aux_hidden_state_layer_ids": )" +
                      std::string(ids) + ", " + kLayers),
                "of a target of 32 layers");
}

TEST(DrafterFolder, DefaultsOfTheResidualDifferByFormat) {
  auto authors = parse(R"("draft_vocab_size": 100, )" + kLayers);
  auto speculators = parse(
      R"("speculators_model_type": "eagle3", "transformer_layer_config": {)" +
      kLayers + "}");
  ASSERT_TRUE(authors.isOk()) << authors.status().toString();
  ASSERT_TRUE(speculators.isOk()) << speculators.status().toString();
  EXPECT_FALSE(authors->eagle.normBeforeResidual);
  EXPECT_TRUE(speculators->eagle.normBeforeResidual);
  EXPECT_EQ(authors->eagle.tokens.size(), 100u);
  EXPECT_TRUE(speculators->eagle.tokens.empty());
}

TEST(DrafterFolder, ProposesWhatSpeculatorsConfigSays) {
  auto proposed = [](const std::string &config) {
    return parse(R"("speculators_model_type": "eagle3",
                    "transformer_layer_config": {)" +
                 kLayers + "}, \"speculators_config\": " + config);
  };
  auto drafts = [&](const std::string &config) {
    auto drafter = proposed(config);
    EXPECT_TRUE(drafter.isOk()) << drafter.status().toString();
    return drafter ? drafter->proposed : -1;
  };
  EXPECT_EQ(drafts(R"({"proposal_methods": [{"proposal_type": "greedy",
      "speculative_tokens": 5}]})"),
            5);
  EXPECT_EQ(drafts(R"({"default_proposal_method": "b", "proposal_methods": [
      {"proposal_type": "a", "speculative_tokens": 5},
      {"proposal_type": "b", "speculative_tokens": 7},
      {"proposal_type": "c", "speculative_tokens": 2}]})"),
            7);
  EXPECT_EQ(drafts(R"({"algorithm": "eagle3"})"), 0);
  expectError(
      proposed(R"({"proposal_methods": [{"speculative_tokens": "3"}]})"),
      "\"speculators_config.proposal_methods[0].speculative_tokens\": "
      "expected an integer of 0 to 1024, got \"3\"");
  expectError(proposed(R"({"proposal_methods": [3]})"),
              "\"speculators_config.proposal_methods\": expected an array of "
              "objects");
}

/// Reads a block drafter with additional keys.
Result<DrafterFolder> parseBlock(const std::string &keys,
                                 const ModelConfig &model = target("36")) {
  return parse(keys + R"(, "mask_token_id": 5, )" + kLayers, model);
}

TEST(DrafterFolder, LayoutsOfBlocksDifferByMethod) {
  struct Case {
    const char *keys;
    int64_t rows, drafts;
    bool fromAnchor;
  };
  for (const Case &expected : {
           Case{R"("speculators_model_type": "dflash", "block_size": 8)", 8, 7,
                false},
           Case{R"("speculators_model_type": "dflash", "block_size": 8,
                   "sample_from_anchor": true)",
                8, 8, true},
           Case{R"("speculators_model_type": "dspark", "block_size": 7)", 7, 7,
                true},
           Case{R"("speculators_model_type": "dspark", "block_size": 7,
                   "sample_from_anchor": false)",
                7, 7, false},
           // The object's own size overrides the one around it.
           Case{R"("block_size": 16, "dflash_config": {"block_size": 8})", 8, 7,
                false},
       }) {
    auto drafter = parseBlock(expected.keys);
    ASSERT_TRUE(drafter.isOk()) << drafter.status().toString();
    EXPECT_EQ(drafter->block.rows, expected.rows) << expected.keys;
    EXPECT_EQ(drafter->block.drafts, expected.drafts) << expected.keys;
    EXPECT_EQ(drafter->block.fromAnchor, expected.fromAnchor) << expected.keys;
    EXPECT_EQ(drafter->block.mask, 5);
  }
}

TEST(DrafterFolder, TapsOfBlocksByDefaultAndByEachConvention) {
  auto taps = [](const std::string &keys, const std::string &layers,
                 int count) {
    std::string inner = kLayers;
    inner.replace(inner.rfind('1'), 1, std::to_string(count));
    auto drafter = parse(R"("architectures": ["DFlashDraftModel"],
        "block_size": 4, "mask_token_id": 5, )" +
                             keys + inner,
                         target(layers));
    EXPECT_TRUE(drafter.isOk()) << drafter.status().toString();
    return drafter->eagle.taps;
  };
  using Taps = std::vector<int64_t>;
  EXPECT_EQ(taps("", "36", 5), (Taps{2, 10, 18, 26, 34}));
  EXPECT_EQ(taps("", "64", 5), (Taps{2, 17, 32, 47, 62}));
  EXPECT_EQ(taps("", "48", 8), (Taps{2, 8, 15, 21, 27, 33, 40, 46}));
  EXPECT_EQ(taps("", "61", 5), (Taps{2, 16, 31, 45, 59}));
  EXPECT_EQ(taps("", "28", 1), (Taps{15}));
  EXPECT_EQ(
      taps(R"("dflash_config": {"target_layer_ids": [1, 35]}, )", "36", 1),
      (Taps{2, 36}));
  EXPECT_EQ(taps(R"("dflash_config": {"layer_ids": [1, 36]}, )", "36", 1),
            (Taps{1, 36}));
  EXPECT_EQ(taps(R"("target_layer_ids": [-1, 4], )", "36", 1), (Taps{0, 5}));
  EXPECT_EQ(taps(R"("aux_hidden_state_layer_ids": [2, 36], )", "36", 1),
            (Taps{2, 36}));
}

TEST(DrafterFolder, RefusesBlocksThatItCannotRun) {
  const std::string dspark =
      R"("architectures": ["Qwen3DSparkModel"], "block_size": 4)";
  auto with = [&](const std::string &keys) {
    return parseBlock(dspark + ", " + keys);
  };
  ASSERT_TRUE(parseBlock(dspark).isOk());
  expectError(with(R"("markov_head_type": "gated")"),
              "\"markov_head_type\": expected \"vanilla\", got \"gated\"");
  expectError(with(R"("markov_head_type": "rnn")"), "got \"rnn\"");
  expectError(with(R"("is_causal": true)"), "\"is_causal\": expected none");
  expectError(with(R"("dflash_config": {"projector_type": "domino"})"),
              "dflash_config.projector_type\": expected none");
  expectError(with(R"("dflash_config": {"use_swa": true})"),
              "dflash_config.use_swa\": expected none");
  expectError(with(R"("dflash_config": {"output_multiplier": 0.5})"),
              "dflash_config.output_multiplier\": expected 1");
  expectError(with(R"("num_target_layers": 35)"),
              "\"num_target_layers\": expected the target's 36, got 35");
  expectError(with(R"("target_layer_ids": [36])"),
              "got the one that enters layer 37");
  expectError(with(R"("model_type": "qwen3", "use_sliding_window": true,
                      "sliding_window": 8, "max_window_layers": 0)"),
              "\"layer_types\": expected a drafter whose layers all see the "
              "whole text, got windows");
  expectError(parse(dspark + R"(, "mask_token_id": 127, )" + kLayers),
              "mask_token_id");
  expectError(parse(dspark + ", " + kLayers), "mask_token_id");
  expectError(parseBlock(R"("architectures": ["DFlashDraftModel"],
                            "block_size": 1)"),
              "block_size");
  expectError(parseBlock(R"("architectures": ["DFlashDraftModel"])"),
              "block_size");
  EXPECT_TRUE(with(R"("is_causal": false)").isOk());
}

TEST(DrafterFolder, ChecksItsWidthsAgainstTheTarget) {
  auto with = [](const std::string &from, const std::string &to) {
    std::string keys = R"("architectures": ["Eagle"], )" + kLayers;
    return parse(keys.replace(keys.find(from), from.size(), to));
  };
  expectError(with("\"hidden_size\": 64", "\"hidden_size\": 32"),
              "\"hidden_size\": expected the target's 64, got 32");
  expectError(with("\"vocab_size\": 127", "\"vocab_size\": 126"),
              "\"vocab_size\": expected the target's 127, got 126");
  expectError(parse(R"("draft_vocab_size": 128, )" + kLayers),
              "draft_vocab_size");
  expectError(parse(R"("medusa_num_heads": 17, )" + kLayers),
              "medusa_num_heads");
}

TEST(DrafterFolder, ReadsWhatStandsWhereDraftsWould) {
  const std::string model = R"("model_type": "llama", )" + kLayers;
  auto pard = parse(R"("pard_token": 126, "spd_type": "pard", )" + model);
  ASSERT_TRUE(pard.isOk()) << pard.status().toString();
  EXPECT_EQ(pard->parallel.maskToken, 126);
  expectError(parse(R"("pard_token": 127, )" + model),
              "\"pard_token\": expected an integer of 0 to 126, got 127");
  expectError(parse(R"("pard_token": 5, "spd_type": "pard2", )" + model),
              "\"spd_type\": expected \"pard\", got \"pard2\"");
  auto eagle = [](const std::string &keys) {
    return parse(R"("architectures": ["PEagle"], )" + keys + kLayers);
  };
  auto known = eagle(R"("mask_token_id": 3, "pard_token": 4,
                        "num_depths": 8, )");
  ASSERT_TRUE(known.isOk()) << known.status().toString();
  EXPECT_EQ(known->parallel.maskToken, 3);
  EXPECT_EQ(known->parallel.depths, 8);
  EXPECT_FALSE(known->eagle.normBeforeResidual);
  EXPECT_EQ(eagle(R"("pard_token": 4, )")->parallel.maskToken, 4);
  expectError(eagle(""), "\"mask_token_id\"");
}

TEST(DrafterFolder, RefusesRecurrentLayers) {
  const std::string layers =
      R"("model_type": "qwen3_5_text", "hidden_size": 64, "vocab_size": 127,
         "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
         "intermediate_size": 96, "num_hidden_layers": 2,
         "layer_types": ["full_attention", "linear_attention"],
         "linear_num_value_heads": 4, "linear_num_key_heads": 2,
         "linear_key_head_dim": 8, "linear_value_head_dim": 8,
         "linear_conv_kernel_dim": 4)";
  const std::string eagle = R"("architectures": ["LlamaForCausalLMEagle3"], )",
                    block = R"("architectures": ["DFlashDraftModel"],
                               "mask_token_id": 5, "block_size": 4, )";
  for (const std::string &method : {eagle, block})
    expectError(parse(method + layers),
                "\"model_type\": expected a drafter without recurrent layers");
}

TEST(DrafterFolder, RefusesWhatLooksLikeMetas) {
  auto heads = [](const std::string &keys) {
    return parse(R"("dim": 64, "n_heads": 4, "norm_eps": 1e-5, )" + keys);
  };
  expectError(heads(R"("head_dim": 32)"),
              "\"head_dim\": expected \"dim\" / \"n_heads\", 16, got 32");
  expectError(heads(R"("sliding_window": 4096)"),
              "\"sliding_window\": expected no such key in Llama's own format");
}

TEST(DrafterFolder, ReadsHeadsThatAreLayers) {
  auto heads = [](const std::string &keys) {
    return parse(R"("dim": 64, "n_heads": 4, )" + keys + R"("norm_eps": 1e-5)");
  };
  auto known = heads(R"("n_future_tokens": 3, "n_kv_heads": 2,
                        "vocab_size": -1, "n_layers": 34, )");
  ASSERT_TRUE(known.isOk()) << known.status().toString();
  EXPECT_EQ(known->heads(), 2);
  EXPECT_EQ(known->eagle.taps, std::vector<int64_t>{31});
  EXPECT_TRUE(known->layers.attention()->rope.isInterleaved);
  // int(2 / 3 * 4 * 64) = 170, rounded up.
  EXPECT_EQ(known->layers.layers.front().feed.width, 256);
  EXPECT_EQ(heads(R"("multiple_of": 16, )")->layers.layers.front().feed.width,
            176);
  EXPECT_EQ(heads(R"("ffn_dim_multiplier": 2, "multiple_of": 1, )")
                ->layers.layers.front()
                .feed.width,
            340);
  expectError(heads(R"("n_layers": 33, )"),
              "\"n_layers\": expected the target's 32 layers, or 35 with the "
              "heads, got 33");
  expectError(heads(R"("n_future_tokens": 1, )"), "n_future_tokens");
  expectError(heads(R"("n_kv_heads": 3, )"),
              "\"n_kv_heads\": expected a divisor of \"n_heads\" 4, got 3");
  expectError(heads(R"("vocab_size": 126, )"),
              "\"vocab_size\": expected the target's 127, got 126");
  expectError(parse(R"("dim": 32, "n_heads": 4)"),
              "\"dim\": expected the target's 64, got 32");
}

TEST(DrafterFolder, RefusesMedusaHeadsOfSomeTokens) {
  auto with = [](const std::string &keys) {
    return parse(R"("model_type": "medusa", "num_heads": 2, )" + keys);
  };
  expectError(with(R"("truncated_vocab_size": 100)"),
              "\"truncated_vocab_size\": expected the target's 127, got 100");
  expectError(with(R"("original_lm_head": true)"),
              "\"original_lm_head\": expected false, got true");
  auto whole = with(R"("truncated_vocab_size": 127)");
  EXPECT_TRUE(whole.isOk()) << whole.status().toString();
  EXPECT_NE(methodOf({"blocks.0.layers.0.weight", "token_map"})
                .find("got the weight \"token_map\""),
            std::string::npos);
}

TEST(DraftTree, ReadsPathsInAnyOrder) {
  auto tree = parseChoices("mc_sim = [[1], (0, 0), [0],\n [0, 1], [0, 0, 0],]");
  ASSERT_TRUE(tree.isOk()) << tree.status().toString();
  EXPECT_EQ(tree->parents, (std::vector<int64_t>{-1, 0, 0, 1, 1, 3}));
  EXPECT_EQ(tree->depth, 3);
  EXPECT_EQ(tree->nodes, 6);
}

/// The static tree of EAGLE-1's code.
TEST(DraftTree, ReadsTheAuthorsTree) {
  auto tree = parseChoices(
      "[[0],[1],[2],[3],[0,0],[0,1],[0,2],[1,0],[1,1],[2,0],[2,1],[3,0],"
      "[0,0,0],[0,0,1],[0,0,2],[0,1,0],[0,1,1],[0,2,0],[0,2,1],[1,0,0],"
      "[0,0,0,0],[0,0,0,1],[0,0,0,2],[0,0,0,0,0],[0,0,0,0,1]]");
  ASSERT_TRUE(tree.isOk()) << tree.status().toString();
  EXPECT_EQ(tree->nodes, 26);
  EXPECT_EQ(tree->depth, 5);
}

TEST(DraftTree, RefusesWhatIsNoTree) {
  expectError(parseChoices("[[0], [0, 0, 0]]"),
              "expected the path [0, 0], which [0, 0, 0] continues, got none");
  expectError(parseChoices("[[0], [2]]"),
              "expected the path [1] beside the next rank's [2], got none");
  expectError(parseChoices("[[0], [0]]"), "expected every path once, got [0]");
  expectError(parseChoices("[]"), "expected a path at least");
  expectError(parseChoices("[[]]"), "expected paths of 1 to 16 ranks, got []");
  expectError(parseChoices("[[0],\n [-1]]"),
              "line 2: expected a rank, 0 or more, got '-'");
  expectError(parseChoices("[[0]"), "expected ',' or ']', got the end");
  expectError(parseChoices("[[0]] x"), "expected the end, got 'x'");
  std::string deep = "[", wide = "[";
  for (int i = 0; i < 17; ++i)
    deep += i == 0 ? "[0" : ",0";
  expectError(parseChoices(deep + "]]"), "expected paths of 1 to 16 ranks");
  for (int i = 0; i < 64; ++i)
    wide += "[" + std::to_string(i) + "],";
  expectError(parseChoices(wide + "]"), "expected at most 63 paths, got 64");
}

TEST(DraftTree, ReadsDynamicTrees) {
  auto tree = parseDraftTree("dynamic:6,8,60");
  ASSERT_TRUE(tree.isOk()) << tree.status().toString();
  EXPECT_EQ(tree->kind, DraftTreeKind::Dynamic);
  EXPECT_EQ(describeTree(*tree), "dynamic:6,8,60");
  expectError(parseDraftTree("dynamic:6,8"), "dynamic:depth,width,nodes");
  expectError(parseDraftTree("dynamic:0,8,60"), "a depth of 1 to 16");
  expectError(parseDraftTree("dynamic:17,2,60"), "a depth of 1 to 16");
  expectError(parseDraftTree("dynamic:2,11,60"), "a width of 2 to 10");
  expectError(parseDraftTree("dynamic:5,8,5"), "6 to 64 nodes");
  // The drafter's rows use the places of the nodes; deep and wide beams reuse
  // places.
  EXPECT_EQ(parseDraftTree("dynamic:4,8,17")->window(), 24);
  EXPECT_EQ(parseDraftTree("dynamic:8,10,60")->window(), 64);
  EXPECT_EQ(parseDraftTree("dynamic:16,10,64")->window(), 64);
  EXPECT_EQ(tree->rank, TreeRank::Coupled);
  auto raw = parseDraftTree("dynamic:6,8,60,raw");
  ASSERT_TRUE(raw.isOk()) << raw.status().toString();
  EXPECT_EQ(raw->rank, TreeRank::Raw);
  EXPECT_EQ(describeTree(*raw), "dynamic:6,8,60,raw");
  auto sharp = parseDraftTree("dynamic:6,8,60,raw,sharp=1.5");
  ASSERT_TRUE(sharp.isOk()) << sharp.status().toString();
  EXPECT_EQ(sharp->sharp, 1.5);
  EXPECT_EQ(describeTree(*sharp), "dynamic:6,8,60,sharp=1.5,raw");
  for (const char *text : {"0.5", "16.5", "nan", "-2"})
    expectError(parseDraftTree(std::string("dynamic:6,8,60,sharp=") + text),
                "sharp of 1 to 16");
  for (const char *text : {"sharp=", "sharp=2x", "sharp=2,sharp=2", "sharp"})
    expectError(parseDraftTree(std::string("dynamic:6,8,60,") + text),
                ",sharp=N");
  expectError(parseDraftTree("dynamic:6,8,60,row"), "and perhaps ,raw");
  expectError(parseDraftTree("dynamic:6,8,60,raw,raw"), "and perhaps ,raw");
  expectError(parseDraftTree("dynamic:2,2,8"), "3 to 7 nodes");
  expectError(parseDraftTree("no/such/file"), "no/such/file");
}

} // namespace
