//===- format_test.cpp - Formats of weight elements -----------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/schema/BlobFormat.h"
#include "test/Runtime/support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {

using enum WeightElements;

TEST(WeightFormat, HasAName) {
  EXPECT_EQ(WeightFormat{F32}.name(), "f32");
  EXPECT_EQ(WeightFormat{BF16}.name(), "bf16");
  EXPECT_EQ((WeightFormat{Int8, 32}.name()), "int8");
  EXPECT_EQ((WeightFormat{Int4, 32}.name()), "int4");
  for (const WeightElementsInfo &info : kWeightFormats)
    EXPECT_EQ(findWeightElements(info.name), info.elements);
  for (const char *name : {"", "int", "int88", "Int8", "none"})
    EXPECT_FALSE(findWeightElements(name)) << name;
}

TEST(WeightFormat, HasAGroupWhereItIsQuantised) {
  EXPECT_TRUE(WeightFormat{}.isValid());
  EXPECT_TRUE(WeightFormat{BF16}.isValid());
  EXPECT_FALSE((WeightFormat{F32, 32}.isValid()));
  EXPECT_FALSE((WeightFormat{BF16, -32}.isValid()));
  for (WeightElements elements : {Int8, Int4}) {
    for (int64_t group : {32, 64, 96, 128})
      EXPECT_TRUE((WeightFormat{elements, group}.isValid())) << group;
    for (int64_t group : {-32, 0, 8, 33, 48, 160})
      EXPECT_FALSE((WeightFormat{elements, group}.isValid())) << group;
  }
  EXPECT_FALSE(
      (WeightFormat{WeightElements(std::size(kWeightFormats)), 32}.isValid()));
  EXPECT_FALSE((WeightFormat{WeightElements(255), 0}.isValid()));
}

TEST(WeightFormat, CountsItsBytes) {
  EXPECT_EQ(WeightFormat{F32}.panelBytes(5, 16), 5 * 16 * 4);
  // bf16 stores inputs in pairs, except in rows of a table.
  EXPECT_EQ(WeightFormat{BF16}.panelBytes(5, 16), 6 * 16 * 2);
  EXPECT_EQ(WeightFormat{BF16}.rowBytes(5), 10);
  EXPECT_EQ(WeightFormat{F32}.rowBytes(5), 20);
  // 65 inputs in groups of 64: one more group, of 68 or 72 stored integers.
  EXPECT_EQ((WeightFormat{Int8, 64}.panelBytes(65, 32)), 2 * 128 + 68 * 32);
  EXPECT_EQ((WeightFormat{Int4, 64}.panelBytes(65, 32)), 2 * 128 + 72 * 16);
  EXPECT_EQ((WeightFormat{Int8, 64}.rowBytes(65)), 2 * 4 + 68);
  EXPECT_EQ((WeightFormat{Int4, 64}.rowBytes(65)), 2 * 4 + 36);
  for (WeightElements elements : {Int8, Int4})
    EXPECT_LE((WeightFormat{elements, kMaxQuantGroup}.panelBytes(128, 32)),
              QuantizedPanel::kMostBlockBytes);
}

// Formats of GGUF take the bits that they have there.
TEST(WeightFormat, TakesTheBitsOfItsType) {
  using enum WeightScales;
  auto bits = [](WeightFormat format) {
    EXPECT_TRUE(format.isValid());
    return format.bitsPerWeight(1024);
  };
  EXPECT_EQ(bits({Int4, 32, F16}), 4.5);
  EXPECT_EQ(bits({Int4, 32, F16, true}), 5);
  EXPECT_EQ(bits({Int5, 32, F16}), 5.5);
  EXPECT_EQ(bits({Int5, 32, F16, true}), 6);
  EXPECT_EQ(bits({Int8, 32, F16}), 8.5);
  EXPECT_EQ(bits({Int4, 32, F16x6, true}), 4.5);
  EXPECT_EQ(bits({Int5, 32, F16x6, true}), 5.5);
  EXPECT_EQ(bits({Int6, 16, F16x8}), 6.5625);
  // An incomplete block has fewer groups.
  EXPECT_EQ((WeightFormat{Int4, 32, F16x6, true}.panelBytes(576, 32)),
            2 * (512 + 4096) + 320 + 1024);
}

TEST(WeightFormat, HasScalesThatSuitItsGroup) {
  using enum WeightScales;
  EXPECT_FALSE((WeightFormat{BF16, 0, F16}.isValid()));
  EXPECT_FALSE((WeightFormat{WeightElements::F32, 0, F32, true}.isValid()));
  EXPECT_FALSE((WeightFormat{Int5, 16, F16}.isValid()));
  EXPECT_FALSE((WeightFormat{Int4, 32, F16x6}.isValid()));
  EXPECT_FALSE((WeightFormat{Int4, 16, F16x6, true}.isValid()));
  EXPECT_FALSE((WeightFormat{Int6, 96, F16x8}.isValid()));
  EXPECT_FALSE((WeightFormat{Int4, 32, WeightScales(std::size(kWeightScales))}
                    .isValid()));
  EXPECT_TRUE((WeightFormat{Int8, 32}.isPlain()));
  EXPECT_FALSE((WeightFormat{Int8, 16}.isPlain()));
  EXPECT_FALSE((WeightFormat{Int8, 32, F16}.isPlain()));
  EXPECT_FALSE((WeightFormat{Int6, 32}.isPlain()));
}

TEST(WeightFormat, IsInFragmentsWhereBlocksAreWhole) {
  EXPECT_TRUE(WeightFormat{BF16}.canBeInFragments(64));
  EXPECT_FALSE(WeightFormat{BF16}.canBeInFragments(40));
  EXPECT_FALSE(WeightFormat{F32}.canBeInFragments(64));
  EXPECT_TRUE((WeightFormat{Int4, 128}.canBeInFragments(96)));
  EXPECT_FALSE((WeightFormat{Int4, 128}.canBeInFragments(100)));
  EXPECT_FALSE((WeightFormat{Int8, 96}.canBeInFragments(96)));
}

/// Writes and reads a blob of that format.
std::optional<WeightFormat> readBack(schema::BlobFormat format,
                                     schema::DType dtype, uint32_t group) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<uint64_t> shape = {1};
  fbb.Finish(schema::CreateBlobDirect(fbb, "w", 0, 0, 0, dtype, &shape, format,
                                      group));
  return weightFormatOf(
      *flatbuffers::GetRoot<schema::Blob>(fbb.GetBufferPointer()));
}

TEST(WeightFormat, ComesBackFromABlob) {
  for (WeightFormat format : {WeightFormat{F32}, WeightFormat{BF16},
                              WeightFormat{Int8, 96}, WeightFormat{Int4, 32}})
    for (bool isTable : {false, true}) {
      StoredFormat stored = storedFormatOf(format.elements, isTable);
      EXPECT_EQ(readBack(stored.format, stored.dtype, uint32_t(format.group)),
                format);
    }
  // The numbers of the file format.
  EXPECT_EQ(int(storedFormatOf(BF16, true).format), 0);
  EXPECT_EQ(int(storedFormatOf(Int8, false).format), 1);
  EXPECT_EQ(int(storedFormatOf(Int4, false).format), 2);
  EXPECT_EQ(int(storedFormatOf(Int8, true).format), 3);
  EXPECT_EQ(int(storedFormatOf(Int4, true).format), 4);
  EXPECT_EQ(storedFormatOf(Int4, true).dtype, schema::DType::I8);
  EXPECT_EQ(storedFormatOf(BF16, false).dtype, schema::DType::BF16);
}

/// Returns the loader's message for a model with another weight; empty if the
/// model is accepted.
std::string messageFor(const test::ArtifactBuilder::Blob &blob) {
  test::ArtifactBuilder a = test::makeFakeModel();
  a.addSegment(schema::SegmentKind::Weights, std::vector<uint8_t>(8192, 1));
  a.weights.push_back(blob);
  test::AlignedBytes bytes(a.finish());
  return std::string(ArtifactFile::fromMemory(bytes.span()).status().message());
}

TEST(WeightFormat, IsCheckedInAnArtifact) {
  using Format = schema::BlobFormat;
  using enum schema::BlobScales;
  constexpr auto i8 = schema::DType::I8;
  constexpr uint64_t q41 = 128 + 32 * 16, k5 = 512 + 8 * 32 * 20;
  auto ofK5 = [](Format format, uint32_t group, schema::BlobScales scales,
                 bool hasOffset) {
    return messageFor(
        {"w", 1, 0, k5, i8, {1, k5}, format, group, 256, scales, hasOffset});
  };
  EXPECT_EQ(
      messageFor(
          {"w", 1, 0, q41, i8, {1, q41}, Format::Int4, 32, 32, F16, true}),
      "");
  EXPECT_EQ(ofK5(Format::Int5, 32, F16x6, true), "");
  EXPECT_EQ(
      messageFor(
          {"w", 1, 0, q41, i8, {1, q41}, Format::Int4, 32, 32, F16, false}),
      "plans[0].weights[0]: expected panels of 576 i8 for 32 inputs of "
      "Int4, got 1x640xi8");
  const std::string suits = "plans[0].weights[0]: expected a group that suits "
                            "elements and scales, and a number of inputs, got ";
  EXPECT_EQ(ofK5(Format::Int5, 16, F16x6, true), suits + "group 16 and 256");
  EXPECT_EQ(ofK5(Format::Int5, 32, F16x6, false), suits + "group 32 and 256");
  EXPECT_EQ(ofK5(Format::Int6, 96, F16x8, false), suits + "group 96 and 256");
  EXPECT_EQ(ofK5(Format::Int4Rows, 32, F16, false), suits + "group 32 and 256");
  auto unknown = schema::BlobScales(int(schema::BlobScales::MAX) + 1);
  EXPECT_EQ(ofK5(Format::Int5, 32, unknown, false), suits + "group 32 and 256");
  EXPECT_EQ(messageFor({"w",
                        1,
                        0,
                        64,
                        i8,
                        {64},
                        Format::Elements,
                        0,
                        0,
                        schema::BlobScales::F32,
                        true}),
            "plans[0].weights[0]: expected no group, inputs and offset, and "
            "scales of f32 for plain elements, got group 0 and 0");
}

TEST(WeightFormat, IsNoneOfOtherBlobs) {
  EXPECT_FALSE(readBack(schema::BlobFormat::Elements, schema::DType::I32, 0));
  EXPECT_FALSE(readBack(schema::BlobFormat(int(schema::BlobFormat::MAX) + 1),
                        schema::DType::I8, 32));
}

} // namespace
