//===- gguf_test.cpp - Good and malformed GGUF files ----------------------===//

#include "compiler/Weights/Gguf.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/GgufNames.h"
#include "compiler/Weights/pack/WeightRows.h"
#include "test/Weights/GgufBuilder.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>
#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint32_t kF32Type = 0, kF16Type = 1, kQ8Type = 8;

std::span<const uint8_t> view(const std::string &bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (float value : values)
    bytes += packed(value);
  return bytes;
}

/// Expects a failure whose message contains `text`.
void expectError(const std::string &bytes, const std::string &text) {
  Result<GgufHeader> result = parseGguf(view(bytes));
  ASSERT_FALSE(result.isOk()) << "expected: " << text;
  EXPECT_NE(result.status().message().find(text), std::string_view::npos)
      << result.status().toString();
}

GgufBuilder model() {
  GgufBuilder builder;
  return builder.text("general.architecture", "llama")
      .number("llama.attention.head_count", 2);
}

TEST(Gguf, ReadsKeysAndTensors) {
  std::string bytes =
      GgufBuilder()
          .text("a", "text")
          .key("b", GgufType::F32, packed(1e-5f))
          .key("c", GgufType::Bool, std::string(1, '\1'))
          .list("d", GgufType::I32, 2, packed(int32_t(-1)) + packed(7))
          .list("e", GgufType::String, 2, packedText("x") + packedText(""))
          .tensor("t", kF32Type, {2, 1}, floats({1, 2}))
          .tensor("u", kQ8Type, {32}, std::string(34, 'q'))
          .build();
  Result<GgufHeader> header = parseGguf(view(bytes));
  ASSERT_TRUE(header.isOk()) << header.status().toString();
  EXPECT_EQ(header->text("a"), "text");
  EXPECT_EQ(header->find("b")->numbers()->front(), 1e-5);
  EXPECT_TRUE(header->find("c")->flags()->front());
  EXPECT_EQ(*header->find("d")->integers(), (std::vector<int64_t>{-1, 7}));
  EXPECT_EQ(*header->find("e")->texts(),
            (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(header->find("none"), nullptr);
  EXPECT_FALSE(header->find("a")->integers());
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(header->tensors[1].type, WeightType::Q8_0);
  EXPECT_EQ(header->tensors[1].offset, header->tensors[0].offset + 32);
  EXPECT_EQ(header->tensors[1].size, 34u);
}

TEST(Gguf, RefusesBadFronts) {
  expectError("", "expected 4 bytes at offset 0, got 0");
  expectError("GGML" + std::string(20, '\0'), "expected GGUF");
  GgufBuilder builder;
  for (uint32_t version : {0u, 1u, 4u}) {
    builder.version = version;
    expectError(builder.build(), "expected version 2 or 3");
  }
  builder.version = 3u << 24;
  expectError(builder.build(), "big-endian");
  builder = GgufBuilder();
  builder.tensorCount = uint64_t(1) << 40;
  expectError(builder.build(), "expected at most 65536 tensors");
  builder = GgufBuilder();
  builder.keyCount = ~uint64_t(0);
  expectError(builder.build(), "expected at most 65536 keys");
}

TEST(Gguf, RefusesBadKeys) {
  expectError(GgufBuilder().number("a", 1).number("a", 2).build(),
              "duplicate key \"a\"");
  expectError(GgufBuilder().key("a", GgufType(13), "").build(),
              "key \"a\": unknown value type 13");
  expectError(GgufBuilder().list("a", GgufType::Array, 1, "").build(),
              "an array of arrays");
  expectError(
      GgufBuilder().list("a", GgufType::F64, uint64_t(1) << 61, "").build(),
      "key \"a\": expected 2305843009213693952 elements");
  expectError(
      GgufBuilder().list("a", GgufType::String, uint64_t(1) << 62, "").build(),
      "strings, got");
  expectError(
      GgufBuilder().key("a", GgufType::String, packed(~uint64_t(0))).build(),
      "expected a string of at most");
  for (uint32_t alignment : {0u, 3u, 1u << 30})
    expectError(GgufBuilder().number("general.alignment", alignment).build(),
                "expected a power of two");
}

TEST(Gguf, RefusesBadTensors) {
  std::string one = floats({1});
  expectError(GgufBuilder()
                  .tensor("t", kF32Type, {1}, one)
                  .tensor("t", kF32Type, {1}, one)
                  .build(),
              "duplicate tensor \"t\" at offset");
  expectError(
      GgufBuilder().tensor("t", 16, {256}, one).build(),
      "tensor \"t\" at offset 24: tensors of type IQ2_XXS are not read");
  expectError(GgufBuilder().tensor("t", 999, {1}, one).build(),
              "unknown tensor type 999");
  expectError(GgufBuilder().tensor("t", kF32Type, {}, one).build(),
              "expected 1 to 4 dimensions, got none");
  expectError(GgufBuilder().tensor("t", kF32Type, {1, 1, 1, 1, 1}, one).build(),
              "expected 1 to 4 dimensions, got 5");
  expectError(GgufBuilder().tensor("t", kQ8Type, {33}, one).build(),
              "whole Q8_0 blocks of 32, got 33 elements");
  expectError(GgufBuilder()
                  .tensor("t", kF32Type, {1ull << 40, 1ull << 40}, one)
                  .build(),
              "more elements than can be counted");
  expectError(GgufBuilder().tensor("t", kF32Type, {1ull << 63}, one).build(),
              "more elements than can be counted");
  expectError(GgufBuilder().tensor("t", kF32Type, {1ull << 62}, one).build(),
              "more bytes than can be counted");
  expectError(GgufBuilder().tensor("t", kF32Type, {9}, one).build(),
              "tensor \"t\": expected 36 bytes at offset 64, got 32");
  expectError(GgufBuilder().tensor(std::string(64, 'n'), 0, {1}, one).build(),
              "a string of at most 63 bytes");
  GgufBuilder builder;
  builder.tensor("t", kF32Type, {1}, one);
  expectError(builder.build() + std::string(32, '\0'),
              "expected 32 bytes of tensors, got 64");
  // The second tensor begins in the first one.
  std::string bytes = builder.tensor("u", kF32Type, {1}, one).build();
  size_t at = bytes.find('u') + 1 + 4 + 8 + 4;
  bytes[at] = 0;
  expectError(bytes,
              "tensor \"u\": expected to begin at 32 in the data, got 0");
}

/// A file that is cut or changed anywhere is refused, or its tensors lie in it.
TEST(Gguf, SurvivesStructuralMutants) {
  std::string whole =
      model()
          .list("tokenizer.ggml.tokens", GgufType::String, 2,
                packedText("a") + packedText("b"))
          .tensor("blk.0.attn_q.weight", kF16Type, {2, 4}, std::string(16, 'x'))
          .tensor("blk.0.ffn_up_exps.weight", kQ8Type, {32, 2, 2},
                  std::string(136, 'x'))
          .tensor("blk.0.ffn_up_exps.scale", kF32Type, {2}, floats({1, 2}))
          .build();
  size_t end = whole.find(std::string(16, 'x'));
  std::vector<std::string> mutants;
  for (size_t size = 0; size < whole.size(); ++size)
    mutants.push_back(whole.substr(0, size));
  std::mt19937 random(7);
  for (size_t at = 0; at < end; ++at)
    for (int bit : {0, 1, 7, int(random() % 8)}) {
      mutants.push_back(whole);
      mutants.back()[at] ^= char(1 << bit);
    }
  EXPECT_GT(mutants.size(), 500u);
  for (const std::string &bytes : mutants) {
    Result<GgufHeader> header = parseGguf(view(bytes));
    if (!header)
      continue;
    for (const GgufTensor &tensor : header->tensors)
      ASSERT_LE(tensor.offset + tensor.size, bytes.size());
    Result<GgufNames> names = GgufNames::read(*header, std::nullopt);
    Result<TensorMap> tensors = names ? names->translate(*header, view(bytes))
                                      : Result<TensorMap>(names.status());
    if (tensors)
      for (const auto &[key, entry] : *tensors)
        ASSERT_LE(entry.offset + entry.size, bytes.size());
  }
}

TEST(GgufNames, GivesHuggingFaceKeysAndRows) {
  TemporaryFolder folder;
  std::string path = folder.write(
      "m.gguf",
      model()
          .tensor("token_embd.weight", kF16Type, {2, 3}, std::string(12, '\0'))
          .tensor("blk.7.attn_q.weight", kF32Type, {1, 8},
                  floats({0, 2, 1, 3, 4, 6, 5, 7}))
          .tensor("blk.7.attn_v.bias", kF32Type, {2}, floats({1, 2}))
          .tensor("blk.7.ffn_up_exps.weight", kF32Type, {1, 1, 2},
                  floats({8, 9}))
          .tensor("blk.7.ffn_up_exps.scale", kF32Type, {2}, floats({1, 3}))
          .tensor("blk.7.other.weight", kF32Type, {1}, floats({1}))
          .build());
  Result<WeightSet> set = WeightSet::openFiles(std::vector{path});
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  std::string keys;
  for (const auto &[key, file] : set->keys())
    keys += key + "\n";
  EXPECT_EQ(keys, "model.embed_tokens.weight\n"
                  "model.layers.7.mlp.experts.0.up_proj.weight\n"
                  "model.layers.7.mlp.experts.1.up_proj.weight\n"
                  "model.layers.7.other.weight\n"
                  "model.layers.7.self_attn.q_proj.weight\n"
                  "model.layers.7.self_attn.v_proj.bias\n");
  auto read = [&](const std::string &key) {
    WeightSource source;
    source.keyPattern = key;
    Result<WeightRows> rows = WeightRows::resolve(*set, source, 0);
    std::vector<float> values(size_t(rows->rows()));
    rows->readFlat(0, rows->rows(), values.data());
    return values;
  };
  EXPECT_EQ(read("model.layers.7.self_attn.q_proj.weight"),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(read("model.layers.7.mlp.experts.1.up_proj.weight"),
            std::vector<float>{27});
}

/// Returns the values of a weight row by row.
std::vector<float> readRows(const WeightSet &set, const std::string &key,
                            bool isTransposed = false) {
  WeightSource source;
  source.keyPattern = key;
  source.transpose = isTransposed;
  Result<WeightRows> rows = WeightRows::resolve(set, source, 0);
  EXPECT_TRUE(rows.isOk()) << rows.status().toString();
  if (!rows)
    return {};
  std::vector<float> values(size_t(rows->rows() * rows->cols()));
  rows->read(0, rows->rows(), 0, rows->cols(), values.data(), rows->cols());
  return values;
}

std::string counting(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes += packed(float(i));
  return bytes;
}

/// Keys of a hybrid with 2 key heads of width 1 and 4 value heads of width 2.
GgufBuilder hybrid(const std::string &architecture) {
  GgufBuilder builder;
  builder.text("general.architecture", architecture);
  for (const auto &[key, value] : std::vector<std::pair<std::string, uint32_t>>{
           {"block_count", 2},
           {"nextn_predict_layers", 1},
           {"ssm.group_count", 2},
           {"ssm.time_step_rank", 4},
           {"ssm.state_size", 1},
           {"ssm.inner_size", 8}})
    builder.number(architecture + "." + key, value);
  return builder;
}

TEST(GgufNames, PutsHeadsOfValuesInOrder) {
  TemporaryFolder folder;
  std::string path = folder.write(
      "m.gguf",
      hybrid("qwen35")
          .tensor("blk.0.attn_qkv.weight", kF32Type, {1, 12}, counting(12))
          .tensor("blk.0.ssm_a", kF32Type, {4}, counting(4))
          .tensor("blk.0.ssm_out.weight", kF32Type, {8, 2}, counting(16))
          .tensor("blk.1.nextn.eh_proj.weight", kF32Type, {1, 1}, counting(1))
          .tensor("blk.1.attn_norm.weight", kF32Type, {1}, counting(1))
          .build());
  Result<WeightSet> set = WeightSet::openFiles(std::vector{path});
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  // The file has heads 0 and 2 (the first of each group), then 1 and 3.
  const std::string layer = "model.layers.0.linear_attn.";
  EXPECT_EQ(readRows(*set, layer + "in_proj_qkv.weight"),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 8, 9, 6, 7, 10, 11}));
  EXPECT_EQ(readRows(*set, layer + "A_log"), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(readRows(*set, layer + "out_proj.weight"),
            (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11,
                                14, 15}));
  EXPECT_TRUE(set->contains("mtp.fc.weight"));
  EXPECT_TRUE(set->contains("mtp.layers.0.input_layernorm.weight"));
}

TEST(GgufNames, JoinsProjectionsByKeyHead) {
  TemporaryFolder folder;
  // The two parts are in two files.
  std::string first = folder.write(
      "m-00001-of-00002.gguf",
      hybrid("qwen3next")
          .number("split.count", 2)
          .tensor("blk.0.attn_qkv.weight", kF32Type, {1, 12}, counting(12))
          .build());
  std::string second = folder.write(
      "m-00002-of-00002.gguf",
      GgufBuilder()
          .number("split.count", 2)
          .number("split.no", 1)
          .tensor("blk.0.attn_gate.weight", kF32Type, {1, 8}, counting(8))
          .build());
  Result<WeightSet> set = WeightSet::openFiles(std::vector{first, second});
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  const std::string key = "model.layers.0.linear_attn.in_proj_qkvz.weight";
  ASSERT_EQ(set->keys().size(), 1u);
  EXPECT_EQ(readRows(*set, key),
            (std::vector<float>{0, 2, 4, 5, 6,  7,  0, 1, 2, 3, //
                                1, 3, 8, 9, 10, 11, 4, 5, 6, 7}));
}

TEST(GgufNames, JoinsLatentProjections) {
  TemporaryFolder folder;
  auto file = [&](uint64_t width) {
    GgufBuilder builder;
    return builder.text("general.architecture", "deepseek2")
        .tensor("blk.0.attn_k_b.weight", kF32Type, {2, 3, 2}, counting(12))
        .tensor("blk.0.attn_v_b.weight", kF16Type, {width, 1, 2},
                std::string(width * 4, '\0'))
        .build();
  };
  std::string path = folder.write("m.gguf", file(3));
  Result<WeightSet> set = WeightSet::openFiles(std::vector{path});
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  const std::string key = "model.layers.0.self_attn.kv_b_proj.weight";
  // A head has two rows of keys, which are stored as columns, and one of
  // values.
  std::vector<float> rows = {0, 2, 4,  1, 3, 5,  0, 0, 0, //
                             6, 8, 10, 7, 9, 11, 0, 0, 0};
  EXPECT_EQ(readRows(*set, key), rows);
  Result<TensorView> view = set->get(key);
  ASSERT_TRUE(view.isOk());
  EXPECT_EQ(view->type, WeightType::F32);
  EXPECT_FALSE(view->isInOrder());
  // One head's keys, transposed: as they are stored.
  WeightSource source;
  source.keyPattern = key;
  source.transpose = true;
  source.rowBegin = 3;
  source.rowEnd = 5;
  Result<WeightRows> keys = WeightRows::resolve(*set, source, 0);
  ASSERT_TRUE(keys.isOk());
  std::vector<float> values(6);
  keys->read(0, 3, 0, 2, values.data(), 2);
  EXPECT_EQ(values, (std::vector<float>{6, 7, 8, 9, 10, 11}));
  std::vector<float> transposed(18);
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < 3; ++j)
      transposed[j * 6 + i] = rows[i * 3 + j];
  EXPECT_EQ(readRows(*set, key, /*isTransposed=*/true), transposed);
  std::string other = folder.write("other.gguf", file(4));
  EXPECT_NE(WeightSet::openFiles(std::vector{other})
                .status()
                .message()
                .find("expected a transposed matrix for each head to join "
                      "with \"model.layers.0.self_attn.v_b_proj.weight\" of "
                      "shape [2, 1, 4], got shape [2, 3, 2]"),
            std::string_view::npos);
}

TEST(GgufNames, SplitsJoinedTensors) {
  TemporaryFolder folder;
  std::string path =
      folder.write("m.gguf", model()
                                 .number("llama.embedding_length", 4)
                                 .tensor("blk.0.attn_qkv.weight", kF32Type,
                                         {1, 12}, counting(12))
                                 .tensor("blk.0.ffn_gate_up_exps.weight",
                                         kF32Type, {1, 4, 2}, counting(8))
                                 .build());
  Result<WeightSet> set = WeightSet::openFiles(std::vector{path});
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  const std::string layer = "model.layers.0.";
  EXPECT_EQ(readRows(*set, layer + "self_attn.k_proj.weight"),
            (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(readRows(*set, layer + "self_attn.v_proj.weight"),
            (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(readRows(*set, layer + "mlp.experts.0.up_proj.weight"),
            (std::vector<float>{2, 3}));
  EXPECT_EQ(readRows(*set, layer + "mlp.experts.1.gate_proj.weight"),
            (std::vector<float>{4, 5}));
}

TEST(GgufNames, RefusesWrongShapes) {
  TemporaryFolder folder;
  auto message = [&](const std::string &bytes) {
    return std::string(
        WeightSet::openFiles(std::vector{folder.write("m.gguf", bytes)})
            .status()
            .message());
  };
  EXPECT_NE(message(hybrid("qwen35")
                        .tensor("blk.0.ssm_a", kF32Type, {3}, counting(3))
                        .build())
                .find("tensor \"blk.0.ssm_a\": expected 4 rows by the file's "
                      "keys, got shape [3]"),
            std::string::npos);
  EXPECT_NE(
      message(hybrid("qwen35")
                  .tensor("blk.0.ssm_out.weight", kF32Type, {7, 1}, counting(7))
                  .build())
          .find("expected 8 columns by the file's keys, got shape"),
      std::string::npos);
  EXPECT_NE(message(model()
                        .number("llama.embedding_length", 4)
                        .tensor("blk.0.attn_qkv.weight", kF32Type, {1, 11},
                                counting(11))
                        .build())
                .find("expected 12 rows by the file's keys, got shape"),
            std::string::npos);
  EXPECT_NE(
      message(GgufBuilder().text("general.architecture", "qwen35").build())
          .find("key \"qwen35.block_count\": expected 1 to 16777216, got "
                "nothing"),
      std::string::npos);
}

TEST(GgufNames, RefusesOtherFamiliesAndWrongShards) {
  auto message = [](const GgufBuilder &builder) {
    std::string bytes = builder.build();
    Result<GgufHeader> header = parseGguf(view(bytes));
    Result<GgufNames> names = GgufNames::read(*header, std::nullopt);
    Result<TensorMap> tensors = names ? names->translate(*header, view(bytes))
                                      : Result<TensorMap>(names.status());
    return std::string(tensors.status().message());
  };
  EXPECT_NE(message(GgufBuilder()).find("expected one of deepseek2, dots1"),
            std::string::npos);
  EXPECT_NE(message(GgufBuilder().text("general.architecture", "bert"))
                .find("got \"bert\""),
            std::string::npos);
  EXPECT_NE(message(model().number("split.count", 2).number("split.no", 1))
                .find("expected file 1 of 2"),
            std::string::npos);
  EXPECT_NE(message(model().number("split.count", 2).number("split.no", 2))
                .find("expected a number below 2, got 2"),
            std::string::npos);
  EXPECT_NE(message(model().tensor("blk.0.attn_q.weight", 0, {1, 3},
                                   std::string(12, '\0')))
                .find("tensor \"blk.0.attn_q.weight\": expected an even number "
                      "of rows for each of 2 heads, got 3"),
            std::string::npos);
  EXPECT_NE(message(model().tensor("blk.0.attn_q.scale", 0, {1}, "1234"))
                .find("to be one F32 number for a weight"),
            std::string::npos);
}

TEST(GgufFiles, FindsTheFilesOfAModel) {
  TemporaryFolder folder;
  std::string bytes = model().build();
  std::string one = folder.write("one/m.gguf", bytes);
  folder.write("one/mmproj-m.gguf", bytes);
  EXPECT_EQ(*findGgufFiles(folder.path("one")), std::vector{one});
  EXPECT_EQ(*findGgufFiles(one), std::vector{one});
  std::vector<std::string> set = {
      folder.write("set/m-00001-of-00002.gguf", bytes),
      folder.write("set/m-00002-of-00002.gguf", bytes)};
  EXPECT_EQ(*findGgufFiles(folder.path("set")), set);
  EXPECT_EQ(*findGgufFiles(set[1]), set);
  std::string modules = folder.write("one/mtp-m.gguf", bytes);
  EXPECT_EQ(*findGgufFiles(folder.path("one")), std::vector{one});
  EXPECT_EQ(findModuleFiles(folder.path("one")), std::vector{modules});
  EXPECT_TRUE(findModuleFiles(one).empty());
  std::string other = folder.write("set/other.gguf", bytes);
  EXPECT_EQ(*findGgufFiles(other), std::vector{other});
  EXPECT_NE(findGgufFiles(folder.path("set"))
                .status()
                .message()
                .find("expected one model in GGUF"),
            std::string_view::npos);
  std::string part = folder.write("part/m-00002-of-00003.gguf", bytes);
  EXPECT_FALSE(findGgufFiles(part).isOk());
  EXPECT_TRUE(isGgufPath(part));
  EXPECT_FALSE(isGgufPath(folder.path()));
}

} // namespace
