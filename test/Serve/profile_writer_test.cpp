//===- profile_writer_test.cpp - A profile is written again and again -----===//

#include "runtime/profile/ProfileFile.h"
#include "tools/mtp-serve/engine/ProfileWriter.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::serve;

namespace {

/// A folder of one test, which is removed at its end.
class ProfileWriters : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/writer_" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    path = folder + "/served.profile";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Returns a profile with `rounds` rounds.
  static profile::Profile recorded(uint64_t rounds, uint64_t weights = 1) {
    profile::Profile profile;
    profile.model = {"story", weights, 2, "mtp"};
    profile.outcomes.resize(1);
    profile.outcomes[0].tried = {rounds};
    profile.outcomes[0].accepted = {rounds / 2};
    return profile;
  }

  Result<std::unique_ptr<ProfileWriter>> open(double seconds = 1000) {
    return ProfileWriter::create(
        path, [this] { return recorded(rounds); }, seconds);
  }
  uint64_t tried() const {
    auto read = profile::loadProfile(path);
    EXPECT_TRUE(read) << read.status().toString();
    return read ? read->outcomes[0].tried[0] : 0;
  }

  std::string folder, path;
  std::atomic<uint64_t> rounds = 10;
};

} // namespace

TEST_F(ProfileWriters, AddARunToTheRunsBefore) {
  {
    ASSERT_TRUE(open().isOk());
  }
  EXPECT_EQ(tried(), 10u);
  rounds = 5;
  {
    ASSERT_TRUE(open().isOk());
  }
  EXPECT_EQ(tried(), 15u);
}

// Each write has all measurements of the run once.
TEST_F(ProfileWriters, WriteWhileTheServerRuns) {
  auto writer = open(/*seconds=*/0.01);
  ASSERT_TRUE(writer);
  for (uint64_t count : {20, 30}) {
    rounds = count;
    for (int i = 0; i < 1000; ++i) {
      ::usleep(10'000);
      if (std::filesystem::exists(path) && tried() == count)
        break;
    }
    EXPECT_EQ(tried(), count);
  }
  writer->reset();
  EXPECT_EQ(tried(), 30u);
  // No temporary file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(ProfileWriters, LogAWriteThatFails) {
  auto writer = open();
  ASSERT_TRUE(writer);
  // No file may have a byte, as on a full disk.
  struct rlimit old, none;
  ::getrlimit(RLIMIT_FSIZE, &old);
  none = {0, old.rlim_max};
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  testing::internal::CaptureStderr();
  ::setrlimit(RLIMIT_FSIZE, &none);
  writer->reset();
  ::setrlimit(RLIMIT_FSIZE, &old);
  // The captured text is in a file, which has no byte either.
  testing::internal::GetCapturedStderr();
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  writer = open();
  ASSERT_TRUE(writer);
  std::filesystem::remove_all(folder);
  testing::internal::CaptureStderr();
  writer->reset();
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "mtp-serve: warning: --record: "),
            std::string::npos);
}

TEST_F(ProfileWriters, RefuseAFileThatTheyCannotGoOnWith) {
  std::ofstream(path) << "text";
  auto writer = open();
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.status().code(), StatusCode::DataLoss);
  std::vector<uint8_t> other = profile::writeProfile(recorded(7, 99));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(other.data()),
             std::streamsize(other.size()));
  writer = open();
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.status().message().find("model: expected a profile of"),
            std::string_view::npos);
  path = folder + "/missing/served.profile";
  EXPECT_FALSE(open());
}
