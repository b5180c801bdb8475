//===- corrupt_test.cpp - No byte can crash the loader --------------------===//
//
// Truncated and bit-flipped files, with and without a matching seal. With a
// matching seal only the verifiers protect the loader. Also meant for
// AddressSanitizer.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "test/Runtime/support/FakeModel.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// The parameter: one program for every n, or ranges.
class Corrupt : public testing::TestWithParam<bool> {};

/// Returns a small file with an envelope of one slot and one draft.
std::vector<uint8_t> smallFile(bool hasRanges) {
  FakeOptions options;
  options.hasRanges = options.hasAudit = hasRanges;
  options.maxBatch = 1;
  options.maxK = 1;
  options.chunks = {4};
  ArtifactBuilder a = makeFakeModel(options);
  // The image's content does not matter here, but a small size saves time.
  a.segments[0].bytes.assign(300, 7);
  return a.finish();
}

Status load(const std::vector<uint8_t> &file) {
  AlignedBytes bytes(file);
  return ArtifactFile::fromMemory(bytes.span()).status();
}

/// Returns the bytes of header, FlatBuffer and seal.
size_t frontSize(const std::vector<uint8_t> &file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  return size_t(header.programOffset + header.programSize + 8);
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Forms, Corrupt, testing::Bool());

TEST_P(Corrupt, TheFileItselfIsFine) {
  EXPECT_TRUE(load(smallFile(GetParam())).isOk());
}

TEST_P(Corrupt, TruncationAtEveryByte) {
  std::vector<uint8_t> file = smallFile(GetParam());
  for (size_t size = 0; size < file.size(); ++size) {
    std::vector<uint8_t> shorter(file.begin(), file.begin() + int64_t(size));
    EXPECT_FALSE(load(shorter).isOk()) << size << " bytes";
  }
  file.push_back(0);
  EXPECT_FALSE(load(file).isOk());
}

TEST_P(Corrupt, EveryFlippedByteIsFound) {
  std::vector<uint8_t> file = smallFile(GetParam());
  size_t front = frontSize(file);
  for (size_t i = 0; i < front; ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      file[i] ^= flip;
      EXPECT_FALSE(load(file).isOk()) << "byte " << i;
      file[i] ^= flip;
    }
  for (size_t i = file.size() - 300; i < file.size(); ++i) {
    file[i] ^= 1;
    EXPECT_FALSE(load(file).isOk()) << "byte " << i;
    file[i] ^= 1;
  }
}

TEST_P(Corrupt, EveryFlippedByteUnderAValidSealIsHarmless) {
  std::vector<uint8_t> file = smallFile(GetParam());
  size_t front = frontSize(file) - 8, refused = 0;
  for (size_t i = 0; i < front; ++i)
    for (uint8_t flip : {0x01, 0x02, 0x04, 0x10, 0x40, 0x80, 0xff}) {
      std::vector<uint8_t> changed = file;
      changed[i] ^= flip;
      reseal(changed);
      refused += !load(changed).isOk();
    }
  // Most changes of most bytes matter.
  EXPECT_GT(refused, front * 7 / 3);
}

TEST_P(Corrupt, WordsOfTheFlatBufferSetToExtremes) {
  std::vector<uint8_t> file = smallFile(GetParam());
  size_t front = frontSize(file) - 8;
  const uint32_t values[] = {0,          1,          0x7fffffff, 0x80000000,
                             0xffffffff, 0xfffffffc, 64};
  for (size_t i = 64; i + 4 <= front; i += 4)
    for (uint32_t value : values) {
      std::vector<uint8_t> changed = file;
      std::memcpy(&changed[i], &value, sizeof(value));
      reseal(changed);
      load(changed).ignore();
    }
}

/// One table, named a hundred thousand times in each of many vectors.
TEST(Corrupt, SharedTablesAreBoundedWork) {
  flatbuffers::FlatBufferBuilder fbb;
  auto name = fbb.CreateString("p");
  auto target = schema::CreateTarget(fbb, fbb.CreateString("x86_64"));
  auto one = schema::CreateDispatch(fbb, uint32_t(0));
  std::vector<flatbuffers::Offset<void>> many(100000, one.Union());
  auto commands = fbb.CreateVector(many);
  auto kinds =
      fbb.CreateVector(std::vector(many.size(), schema::Action::Dispatch));
  std::vector<flatbuffers::Offset<schema::PlanProgram>> programs;
  schema::PlanProgramBuilder program(fbb);
  program.add_name(name);
  program.add_commands_type(kinds);
  program.add_commands(commands);
  programs.assign(100000, program.Finish());
  auto list = fbb.CreateVector(programs);
  schema::PlanBuilder plan(fbb);
  plan.add_target(target);
  plan.add_programs(list);
  auto plans = fbb.CreateVector(std::vector{plan.Finish()});
  schema::ArtifactBuilder root(fbb);
  root.add_producer(name);
  root.add_plans(plans);
  schema::FinishArtifactBuffer(fbb, root.Finish());
  std::vector<uint8_t> file =
      makeFileFront(fbb.GetBufferPointer(), fbb.GetSize(), 0);
  EXPECT_EQ(load(file).message(),
            "the program is no valid FlatBuffer of kind 'MTPA'");
}
