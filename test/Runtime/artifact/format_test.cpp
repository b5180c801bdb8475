//===- format_test.cpp - Formats of weight elements -----------------------===//

#include "runtime/schema/BlobFormat.h"

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
    for (int64_t group : {-32, 0, 16, 33, 160})
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
              QuantizedPanel::kMostGroupBytes);
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

TEST(WeightFormat, IsNoneOfOtherBlobs) {
  EXPECT_FALSE(readBack(schema::BlobFormat::Elements, schema::DType::I32, 0));
  EXPECT_FALSE(readBack(schema::BlobFormat(int(schema::BlobFormat::MAX) + 1),
                        schema::DType::I8, 32));
}

} // namespace
