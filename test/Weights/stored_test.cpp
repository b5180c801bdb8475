//===- stored_test.cpp - Weights stored as codes and scales ---------------===//
//
// test/Import/quantized_folders.test compares the values of every format with
// test/oracle/quantized_folders.py. These are the keys, groups and errors.
//
//===----------------------------------------------------------------------===//

#include "test/Weights/KeptPanels.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

const std::string kGptq =
    R"({"quant_method":"gptq","bits":4,"group_size":16,"sym":false})";

/// Returns bytes that look random.
std::string noise(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += char((i * 2654435761u + 12345) >> 13 & 0xff);
  return bytes;
}

std::string halves(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += std::string{char(i % 251), char(0x2c)};
  return bytes;
}

std::string integers(const std::vector<int64_t> &values, size_t size) {
  std::string bytes;
  for (int64_t value : values)
    bytes.append(reinterpret_cast<const char *>(&value), size);
  return bytes;
}

/// A folder with one file and, if not empty, a quantization config.
class Stored : public testing::Test {
protected:
  Result<WeightSet> open(const std::string &quantization = "") {
    folder.write("model.safetensors", builder.build());
    if (!quantization.empty())
      folder.write("config.json",
                   "{\"quantization_config\":" + quantization + "}");
    return WeightSet::openFolder(folder.path());
  }

  void expectError(const std::string &text,
                   const std::string &quantization = "") {
    Result<WeightSet> set = open(quantization);
    ASSERT_TRUE(set.isOk()) << set.status().toString();
    Result<TensorView> tensor = set->get("w.weight");
    ASSERT_FALSE(tensor.isOk());
    std::string message(tensor.status().message());
    EXPECT_NE(message.find(text), message.npos) << message;
    EXPECT_NE(message.find("weight \"w.weight\" in \""), message.npos);
  }

  void addAwq(int64_t n = 16, int64_t k = 32, int64_t groups = 2) {
    builder.add("w.qweight", "I32", {k, n / 8}, noise(size_t(k * n / 2)));
    builder.add("w.qzeros", "I32", {groups, n / 8},
                noise(size_t(groups * n / 2)));
    builder.add("w.scales", "F16", {groups, n}, halves(size_t(groups * n)));
  }
  void addGptq(int64_t zeroWords = 1, int64_t groups = 2) {
    builder.add("w.qweight", "I32", {4, 8}, noise(128));
    builder.add("w.qzeros", "I32", {groups, zeroWords},
                noise(size_t(groups * zeroWords * 4)));
    builder.add("w.scales", "F16", {groups, 8}, halves(size_t(groups * 8)));
  }
  void addPacked(const std::vector<int64_t> &shape,
                 const std::string &type = "BF16") {
    builder.add("w.weight_packed", "I32", {8, 4}, noise(128));
    builder.add("w.weight_scale", type, {8, 2}, halves(16));
    builder.add("w.weight_shape", "I64", {int64_t(shape.size())},
                integers(shape, 8));
  }

  TemporaryFolder folder;
  FileBuilder builder;
};

/// Integers and groups of a weight give its values.
void expectGroups(const WeightSet &set, const GroupForm &expected) {
  WeightSource source;
  source.keyPattern = "w.weight";
  Result<WeightRows> rows = WeightRows::resolve(set, source, 0);
  ASSERT_TRUE(rows.isOk()) << rows.status().toString();
  std::optional<GroupForm> form = rows->groupForm();
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->group, expected.group);
  EXPECT_EQ(form->bits, expected.bits);
  EXPECT_EQ(form->isSigned, expected.isSigned);
  EXPECT_EQ(form->scaleType, expected.scaleType);
  EXPECT_EQ(form->isFloat4, expected.isFloat4);
  int64_t k = rows->cols(), g = rows->keptFormat()->group;
  std::vector<float> values(static_cast<size_t>(k));
  std::vector<int16_t> q(values.size());
  std::vector<GroupCodes> groups(size_t((k + g - 1) / g));
  int64_t least = form->isSigned ? -(1 << (form->bits - 1)) : 0;
  for (int64_t row = 0; row < rows->rows(); ++row) {
    rows->read(row, 1, 0, k, values.data(), k);
    rows->readCodes(row, 0, k, groups.data(), q.data());
    for (int64_t i = 0; i < k; ++i) {
      const GroupCodes &group = groups[size_t(i / g)];
      EXPECT_GE(q[size_t(i)], least);
      EXPECT_LT(q[size_t(i)], least + (1 << form->bits));
      EXPECT_EQ(group.scaleOf() * float(q[size_t(i)]) + group.offsetOf(),
                values[size_t(i)])
          << row << ", " << i;
    }
  }
  WeightRecipe recipe;
  recipe.name = "w";
  recipe.layout = WeightLayout::Panels;
  recipe.n = rows->rows();
  recipe.k = k;
  recipe.sources = {source};
  expectKept(set, recipe);
}

TEST_F(Stored, AwqHasGroupsWithOffsets) {
  addAwq();
  Result<WeightSet> set = open();
  expectGroups(*set, {16, 4, false, WeightType::F16, false});
  EXPECT_EQ(set->get("w.weight")->format(), "int4 (AWQ) in groups of 16");
}

TEST_F(Stored, PackedIntegersHaveSignedGroups) {
  addPacked({8, 32});
  expectGroups(*open(), {16, 4, true, WeightType::F32, false});
  builder = FileBuilder();
  addPacked({8, 32}, "F16");
  builder.add("w.weight_zero_point", "I32", {1, 2}, noise(8));
  expectGroups(*open(), {16, 4, false, WeightType::F16, false});
}

TEST_F(Stored, LongGroupsAreSeveralWithOneScale) {
  builder.add("w.weight", "I8", {8, 192}, noise(8 * 192));
  builder.add("w.weight_scale", "BF16", {8, 1}, halves(8));
  expectGroups(*open(), {192, 8, true, WeightType::F32, false});
  builder = FileBuilder();
  builder.add("w.weight_packed", "I32", {8, 24}, noise(8 * 96));
  builder.add("w.weight_scale", "F16", {8, 2}, halves(16));
  builder.add("w.weight_shape", "I64", {2}, integers({8, 192}, 8));
  expectGroups(*open(), {96, 4, true, WeightType::F16, false});
}

TEST_F(Stored, FloatsOfFourBitsAreIntegers) {
  builder.add("w.weight", "U8", {2, 16}, noise(32));
  builder.add("w.weight_scale", "F8_E4M3", {2, 2}, std::string(4, 0x35));
  builder.addF32("w.weight_scale_2", {}, {0.125f});
  Result<WeightSet> set = open();
  expectGroups(*set, {16, 5, true, WeightType::F32, true});
  EXPECT_EQ(set->get("w.weight")->format(), "NVFP4 in groups of 16");
}

TEST_F(Stored, AnOrderOfColumnsHasNoGroups) {
  addGptq();
  std::vector<int64_t> order(32);
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = int64_t(i % 2);
  builder.add("w.g_idx", "I32", {32}, integers(order, 4));
  Result<WeightSet> set = open(kGptq);
  WeightSource source;
  source.keyPattern = "w.weight";
  Result<WeightRows> rows = WeightRows::resolve(*set, source, 0);
  ASSERT_TRUE(rows.isOk()) << rows.status().toString();
  EXPECT_FALSE(rows->groupForm().has_value());
}

TEST_F(Stored, PartsHaveNoKeysOfTheirOwn) {
  addAwq();
  builder.addF32("w.input_scale", {1}, {1});
  builder.addF32("k_proj.k_scale", {1}, {1});
  builder.addF32("w.bias", {1}, {1});
  builder.addF32("norm.weight", {1}, {1});
  std::string keys;
  Result<WeightSet> set = open();
  for (const auto &[key, file] : set->keys())
    keys += key + " ";
  EXPECT_EQ(keys, "norm.weight w.bias w.weight ");
  EXPECT_EQ(formatShape(set->get("w.weight")->shape), "[16, 32]");
}

TEST_F(Stored, RefusesWrongAwq) {
  addAwq(16, 32, 3);
  expectError("expected scales of groups of equal size of 32 inputs at "
              "\"w.scales\", got F16 [3, 16]");
  builder = FileBuilder();
  addAwq();
  expectError("expected one of \"gemm\", \"GEMM\", got \"gemv\"; import the "
              "model that it was made from",
              R"({"quant_method":"awq","version":"gemv"})");
  expectError("expected scales of groups of 128 of 32 inputs",
              R"({"quant_method":"awq","group_size":128})");
  expectError("expected -1 or an integer of 1 to 16777216, got 0",
              R"({"quant_method":"awq","group_size":0})");
  builder.add("w.weight", "F16", {1}, "ab");
  expectError("expected \"w.weight\" or \"w.qweight\", got both",
              R"({"quant_method":"awq","group_size":16})");
  builder = FileBuilder();
  builder.add("w.qweight", "I32", {32, 2}, noise(256));
  expectError("expected a tensor \"w.scales\" beside \"w.qweight\", got none",
              R"({"quant_method":"awq"})");
  builder.add("w.scales", "F16", {2, 16}, halves(32));
  expectError("expected a tensor \"w.qzeros\"", R"({"quant_method":"awq"})");
  builder.add("w.qzeros", "F16", {2, 2}, halves(4));
  expectError("expected I32 [2, 2] at \"w.qzeros\", got F16 [2, 2]",
              R"({"quant_method":"awq"})");
  builder = FileBuilder();
  builder.add("w.qweight", "I32", {16, 4}, noise(256));
  builder.add("w.scales", "F16", {2, 16}, halves(32));
  expectError("or [inputs, 16 / 8] (AWQ in the order \"gemm\"), as the scales "
              "have 16 outputs at \"w.qweight\", got I32 [16, 4]",
              R"({"quant_method":"awq"})");
}

TEST_F(Stored, RefusesWrongGptq) {
  addGptq();
  expectError("a file quantize_config.json beside the weights");
  FileBuilder valid = builder;
  auto expectOrder = [&](const std::vector<int64_t> &order,
                         const std::string &text) {
    builder = valid;
    builder.add("w.g_idx", "I32", {int64_t(order.size())}, integers(order, 4));
    expectError(text, kGptq);
  };
  std::vector<int64_t> order(32);
  expectOrder({0, 1}, "expected I32 [32] at \"w.g_idx\", got I32 [2]");
  order[7] = 2;
  expectOrder(order, "expected groups of 0 to 1 at \"w.g_idx\", got 2 for "
                     "input 7");
  order[7] = -1;
  expectOrder(order, "got -1 for input 7");
  builder = FileBuilder();
  addGptq(3);
  expectError("expected integers of 2, 3, 4 or 8 bits", kGptq);
  builder = FileBuilder();
  addGptq(1, 3);
  expectError("expected scales of groups of 16 of 32 inputs", kGptq);
  builder = FileBuilder();
  builder.add("w.qweight", "I32", {4, 8}, noise(128));
  builder.add("w.scales", "F16", {2, 8}, halves(16));
  expectError("expected a tensor \"w.qzeros\", or \"bits\" and \"sym\": true",
              kGptq);
  expectError("expected one of \"gptq\", \"gptq_v2\", got \"marlin\"",
              R"({"quant_method":"gptq","checkpoint_format":"marlin"})");
}

TEST_F(Stored, RefusesWrongPackedIntegers) {
  addPacked({9, 32});
  expectError("expected 8 outputs at \"w.weight_shape\", got [9, 32]");
  builder = FileBuilder();
  addPacked({8, 32, 1});
  expectError("expected I64 [2] at \"w.weight_shape\", got I64 [3]");
  builder = FileBuilder();
  addPacked({8, 100});
  expectError("got 4 words");
  builder = FileBuilder();
  addPacked({8, 32}, "U16");
  expectError("expected scales F32, BF16, F16 or F8_E8M0 at "
              "\"w.weight_scale\", got U16 [8, 2]");
  builder = FileBuilder();
  addPacked({8, 32});
  builder.add("w.weight_zero_point", "I32", {2, 2}, noise(16));
  expectError("expected I32 [1, 2] at \"w.weight_zero_point\"");
  builder = FileBuilder();
  builder.add("w.weight_packed", "F32", {8, 4}, noise(128));
  expectError("expected I32 or U8 at \"w.weight_packed\", got F32 [8, 4]");
}

TEST_F(Stored, RefusesWrongFloats) {
  builder.add("w.weight_packed", "U8", {2, 16}, noise(32));
  expectError("expected a tensor \"w.weight_scale\" beside");
  builder.add("w.weight_scale", "F8_E4M3", {2, 2}, noise(4));
  expectError("expected a tensor \"w.weight_global_scale\"");
  FileBuilder half = builder;
  for (float factor : {0.0f, -1.0f, INFINITY, NAN}) {
    builder = half;
    builder.addF32("w.weight_global_scale", {1}, {factor});
    expectError(
        "expected a finite number above 0 at \"w.weight_global_scale\"");
  }
  builder = FileBuilder();
  builder.add("w.weight_packed", "U8", {2, 16}, noise(32));
  builder.add("w.weight_scale", "U8", {2, 2}, noise(4));
  expectError("expected scales of groups of 32 of 32 inputs");
  builder = FileBuilder();
  builder.add("w.weight", "U8", {2, 16}, noise(32));
  builder.addF32("w.weight_scale", {2, 1}, {1, 1});
  expectError("expected scales F8_E4M3 (NVFP4) or U8 (MXFP4)");
  builder = FileBuilder();
  builder.add("w.weight", "F8_E4M3", {2, 2}, noise(4));
  builder.addF32("w.weight_scale", {2}, {1, 1});
  builder.addF32("w.weight_scale_inv", {2}, {1, 1});
  expectError("expected one tensor of scales, got \"w.weight_scale_inv\" and");
}

TEST_F(Stored, RefusesOtherFormatsByName) {
  const char *const marks[] = {"w.weight.absmax", "w.SCB", "w.pre_quant_scale",
                               "w.trellis", "w.W_q"};
  for (const char *mark : marks) {
    SCOPED_TRACE(mark);
    builder = FileBuilder();
    builder.addF32(mark, {1}, {1});
    expectError("expected a supported format, got ");
    builder.add("w.weight", "U8", {1}, "a");
    expectError("; import the model that it was made from");
  }
  builder = FileBuilder();
  addAwq();
  for (const char *method : {"bitsandbytes", "quark", "gemma", "new"})
    expectError("got \"" + std::string(method) + "\"; import the model",
                "{\"quant_method\":\"" + std::string(method) + "\"}");
  expectError("got \"bitsandbytes\"", "{\"load_in_4bit\":true}");
  expectError("got \"NVFP4_SVD\"",
              R"({"quant_method":"modelopt","quant_algo":"NVFP4_SVD"})");
  expectError("got \"mxfp6-pack-quantized\"",
              R"({"quant_method":"compressed-tensors",
                  "format":"mxfp6-pack-quantized"})");
}

TEST(QuantizationConfig, IsInAnyOfFourFiles) {
  auto method = [](const std::string &text, const std::string &file) {
    Result<QuantizationConfig> config = parseQuantizationConfig(text, file);
    return config ? config->method : config.status().toString();
  };
  EXPECT_EQ(method(R"({"text_config":{"quantization_config":
                   {"quant_method":"fp8"}}})",
                   "config.json"),
            "fp8");
  EXPECT_EQ(method(R"({"quantization":{"quant_algo":"NVFP4"}})",
                   "hf_quant_config.json"),
            "modelopt");
  EXPECT_EQ(
      method(R"({"quantization":{"quant_algo":null}})", "hf_quant_config.json"),
      "");
  EXPECT_EQ(method(R"({"bits":4,"desc_act":false})", "quantize_config.json"),
            "gptq");
  EXPECT_EQ(method(R"({"w_bit":4,"q_group_size":128,"version":"GEMM"})",
                   "quant_config.json"),
            "awq");
  EXPECT_EQ(method("{}", "config.json"), "");
  EXPECT_NE(
      method(R"({"quantization":{"group_size":64,"bits":4}})", "config.json")
          .find("MLX"),
      std::string::npos);
  EXPECT_NE(method("[]", "config.json").find("expected an object"),
            std::string::npos);
}

} // namespace
