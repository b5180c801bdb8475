//===- artifact_file_test.cpp - Files that are no artifacts ---------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "test/Runtime/support/FakeModel.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::test;

static std::string openMessage(const std::string &path) {
  auto artifact = ArtifactFile::open(path);
  std::string message(artifact.status().message());
  // The path comes first.
  EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
  return message.substr(std::min(message.size(), path.size() + 2));
}

TEST(ArtifactFile, RefusesWhatIsNoArtifact) {
  EXPECT_EQ(openMessage(testing::TempDir() + "no-such-file"),
            "cannot open: No such file or directory");
  // The kind of a folder depends on its files, so it is an empty folder.
  std::string folder = testing::TempDir() + "no-files";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(ArtifactFile::open(folder).status().message(),
            "expected an artifact at \"" + folder +
                "\", got a folder; give a file that mtpc wrote");
  EXPECT_EQ(openMessage(writeFile("empty", {})),
            "expected at least 64 bytes of header, got 0");
  std::string text(200, 'x');
  EXPECT_EQ(openMessage(writeFile("text", {text.begin(), text.end()})),
            "not an mtpc artifact: expected the file to start with 'MTPC'");
  std::string fifo =
      testing::TempDir() + "mtp-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(openMessage(fifo), "expected a regular file");
  std::remove(fifo.c_str());
}

TEST(ArtifactFile, ACopyOutlivesTheFilesContent) {
  std::vector<uint8_t> bytes = makeFakeModel().finish();
  std::string path = writeFile("copied", bytes);
  auto copied = ArtifactFile::open(path, HashCheck::Small, FileMemory::Copied);
  ASSERT_TRUE(copied.isOk()) << copied.status().message();
  // A mapping would fault after this.
  std::filesystem::resize_file(path, 0);
  EXPECT_TRUE((*copied)->checkHash(0).isOk());
}

TEST(ArtifactFile, ACopyIsRefusedLikeAMapping) {
  auto message = [](const std::string &path) {
    auto file = ArtifactFile::open(path, HashCheck::Small, FileMemory::Copied);
    return std::string(file.status().message());
  };
  std::string none = testing::TempDir() + "no-such-file";
  EXPECT_EQ(message(none), none + ": cannot open: No such file or directory");
  std::string empty = writeFile("empty", {});
  EXPECT_EQ(message(empty),
            empty + ": expected at least 64 bytes of header, got 0");
}

TEST(ArtifactFile, RefusesOtherVersionsAndSchemas) {
  std::vector<uint8_t> file = makeFakeModel().finish();
  auto with = [&](size_t offset, uint8_t value) {
    std::vector<uint8_t> changed = file;
    changed[offset] = value;
    reseal(changed);
    return openMessage(writeFile("version", changed));
  };
  EXPECT_EQ(with(6, 2),
            "expected format version 1.4, got 2.4; compile the model "
            "again");
  EXPECT_EQ(with(4, 5),
            "expected format version 1.4, got 1.5; compile the model "
            "again");
  EXPECT_EQ(with(4, 3),
            "expected format version 1.4, got 1.3; compile the model "
            "again");
  EXPECT_EQ(with(40, uint8_t(file[40] ^ 1)),
            "written with another schema of the same format version; compile "
            "the model again");
}

TEST(ArtifactFile, HashesFindChangedSegments) {
  std::vector<uint8_t> file = makeFakeModel().finish();
  file.back() ^= 1;
  EXPECT_EQ(openMessage(writeFile("changed", file)),
            "segments[0]: its bytes do not match their hash");
}
