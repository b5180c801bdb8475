//===- weight_table_test.cpp - Weights that a model uses ------------------===//

#include "compiler/Import/config/WeightTable.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::importer;
using namespace mtp::test;

namespace {

class Weights : public testing::Test {
protected:
  WeightTable table(std::optional<WeightType> matrixType = std::nullopt) {
    folder.write("model.safetensors", builder.build());
    WeightTable table(WeightType::BF16, matrixType);
    Status status = table.open(folder.path());
    EXPECT_TRUE(status.isOk()) << status.toString();
    return table;
  }

  void expectType(const Result<WeightType> &type, WeightType expected) {
    ASSERT_TRUE(type.isOk()) << type.status().toString();
    EXPECT_EQ(*type, expected);
  }

  void expectError(const Result<WeightType> &type, const std::string &text) {
    ASSERT_FALSE(type.isOk()) << "expected: " << text;
    EXPECT_NE(type.status().message().find(text), std::string_view::npos)
        << type.status().toString();
  }

  TemporaryFolder folder;
  FileBuilder builder;
  std::vector<std::string> layers = {"layers.0.", "layers.1."};
  int64_t matrix[2] = {2, 3}, vector[1] = {3};
};

TEST_F(Weights, AreCheckedUnderEveryPrefix) {
  builder.addF32("layers.0.w", {2, 3}, std::vector<float>(6));
  builder.addF32("layers.1.w", {3, 2}, std::vector<float>(6));
  builder.addBF16("layers.0.v", {3}, std::vector<float>(3));
  builder.addF32("layers.1.v", {3}, std::vector<float>(3));
  WeightTable weights = table();
  expectType(weights.resolve({layers.data(), 1}, "w", matrix, 0),
             WeightType::F32);
  expectError(weights.resolve(layers, "w", matrix, 0),
              "weight \"layers.1.w\": expected shape [2, 3], got [3, 2] in");
  expectError(weights.resolve(layers, "u", matrix, 0),
              "no weight \"layers.0.u\"; the nearest is \"layers.0.v\"");
}

/// Report d: layers that share a function use the widest type.
TEST_F(Weights, TakeTheWidestType) {
  for (const char *other : {"BF16", "F16", "F32"}) {
    SCOPED_TRACE(other);
    builder = FileBuilder();
    size_t bytes = std::string(other) == "F32" ? 4 : 2;
    builder.addBF16("layers.0.v", {3}, std::vector<float>(3));
    builder.add("layers.1.v", other, {3}, std::string(3 * bytes, '\0'));
    builder.addBF16("layers.0.w", {2, 3}, std::vector<float>(6));
    builder.add("layers.1.w", other, {2, 3}, std::string(6 * bytes, '\0'));
    builder.addBF16("e.0.w", {2, 3}, std::vector<float>(6));
    builder.add("e.1.w", other, {2, 3}, std::string(6 * bytes, '\0'));
    WeightType widest =
        bytes == 4 || other[0] == 'F' ? WeightType::F32 : WeightType::BF16;
    WeightTable weights = table();
    expectType(weights.resolve(layers, "v", vector, 0), widest);
    expectType(weights.resolve(layers, "w", matrix, 0), widest);
    expectType(weights.resolve(layers, "/e.{}.w", matrix, 2), widest);
    // The first prefix may have the wider type, too.
    std::vector<std::string> reversed(layers.rbegin(), layers.rend());
    expectType(weights.resolve(reversed, "w", matrix, 0), widest);
  }
}

TEST_F(Weights, MayBeAbsoluteOrStacked) {
  builder.addBF16("head", {2, 3}, std::vector<float>(6));
  for (std::string expert : {"layers.0.e.0.w", "layers.0.e.1.w"})
    builder.addBF16(expert, {2, 3}, std::vector<float>(6));
  WeightTable weights = table();
  expectType(weights.resolve(layers, "/head", matrix, 0), WeightType::BF16);
  expectType(weights.resolve({layers.data(), 1}, "e.{}.w", matrix, 2),
             WeightType::BF16);
  expectError(weights.resolve({layers.data(), 1}, "e.{}.w", matrix, 3),
              "no weight \"layers.0.e.2.w\"");
}

TEST_F(Weights, MayHaveThreeDimensions) {
  builder.addBF16("filters", {2, 1, 3}, std::vector<float>(6));
  builder.addBF16("experts", {4, 2, 3}, std::vector<float>(24));
  WeightTable weights = table();
  expectType(weights.resolve(layers, "/filters", matrix, 0), WeightType::BF16);
  const int64_t stack[] = {4, 2, 3}, other[] = {4, 3, 3};
  expectType(weights.resolve(layers, "/experts", stack, 0), WeightType::BF16);
  expectError(weights.resolve(layers, "/experts", other, 0),
              "expected shape [4, 3, 3], got [4, 2, 3]");
  expectError(weights.resolve(layers, "/experts", matrix, 0),
              "expected shape [2, 3], got [4, 2, 3]");
}

TEST_F(Weights, KeepTypes) {
  builder.add("half", "F16", {2, 3}, std::string(12, '\0'));
  builder.add("halves", "F16", {3}, std::string(6, '\0'));
  builder.add("int", "I8", {2, 3}, std::string(6, '\0'));
  builder.add("eight", "F8_E4M3", {2, 3}, std::string(6, '\0'));
  builder.addF32("eight_scale_inv", {1, 1}, {1});
  builder.add("bare", "F8_E4M3", {2, 3}, std::string(6, '\0'));
  WeightTable weights = table();
  expectType(weights.resolve(layers, "/half", matrix, 0), WeightType::F32);
  expectType(weights.resolve(layers, "/halves", vector, 0), WeightType::F32);
  expectType(weights.resolve(layers, "/eight", matrix, 0), WeightType::BF16);
  expectError(weights.resolve(layers, "/bare", matrix, 0), "bare_scale_inv");
  expectError(weights.resolve(layers, "/int", matrix, 0), "got I8");
  expectType(table(WeightType::BF16).resolve(layers, "/half", matrix, 0),
             WeightType::BF16);
}

TEST_F(Weights, AreImpliedWithoutFiles) {
  WeightTable weights(WeightType::F8E4M3, std::nullopt);
  expectType(weights.resolve(layers, "w", matrix, 0), WeightType::BF16);
  expectType(weights.resolve(layers, "v", vector, 0), WeightType::BF16);
  expectType(weights.resolve(layers, "gate.e_score_correction_bias", vector, 0),
             WeightType::F32);
  expectType(WeightTable(WeightType::F16, std::nullopt)
                 .resolve(layers, "w", matrix, 0),
             WeightType::F32);
  EXPECT_TRUE(weights.sources().empty());
}

} // namespace
