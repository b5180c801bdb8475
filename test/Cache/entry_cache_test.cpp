//===- entry_cache_test.cpp - Small entries on disk -----------------------===//

#include "CacheTest.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/EntryCache.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mtp;
using namespace mtp::cache;
namespace fs = std::filesystem;

namespace {

class EntryCacheTest : public FolderTest {
protected:
  std::string folder() const { return (root / "kernels").string(); }

  std::unique_ptr<EntryCache>
  open(uint64_t mostBytes = EntryCache::kDefaultBytes) {
    auto cache = EntryCache::open(folder(), mostBytes);
    EXPECT_TRUE(cache.isOk()) << cache.status().message();
    return cache.isOk() ? std::move(*cache) : nullptr;
  }

  std::string openError() {
    auto cache = EntryCache::open(folder());
    return cache.isOk() ? "" : std::string(cache.status().message());
  }

  /// Returns the only file of the cache.
  fs::path entry() const {
    fs::path found;
    for (const auto &file : fs::recursive_directory_iterator(folder()))
      if (file.is_regular_file())
        found = file.path();
    return found;
  }

  size_t files() const {
    size_t count = 0;
    for (const auto &file : fs::recursive_directory_iterator(folder()))
      count += file.is_regular_file();
    return count;
  }
};

EntryKey keyOf(uint8_t first, uint8_t last = 0) {
  EntryKey key{};
  key.front() = first;
  key.back() = last;
  return key;
}

const std::vector<char> kPayload = {'c', 'o', 'd', 'e'};

/// Replaces the bytes of a file from `place` on.
void overwrite(const fs::path &path, size_t place, const std::string &bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(std::streamoff(place));
  file << bytes;
}

} // namespace

TEST_F(EntryCacheTest, FindsWhatWasStored) {
  auto cache = open();
  EXPECT_FALSE(cache->find(keyOf(1)));
  cache->store(keyOf(1), kPayload);
  EXPECT_EQ(cache->find(keyOf(1)), kPayload);
  EXPECT_FALSE(cache->find(keyOf(2)));
  EXPECT_FALSE(cache->find(keyOf(1, 1)));
  EXPECT_EQ(cache->storeError(), "");
  EXPECT_EQ(open()->find(keyOf(1)), kPayload);
}

TEST_F(EntryCacheTest, KeepsAnEmptyPayload) {
  auto cache = open();
  cache->store(keyOf(1), {});
  EXPECT_EQ(cache->find(keyOf(1)), std::vector<char>());
}

TEST_F(EntryCacheTest, MissesATruncatedEntry) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  uint64_t whole = fs::file_size(entry());
  for (uint64_t bytes = 0; bytes < whole; ++bytes) {
    fs::resize_file(entry(), bytes);
    EXPECT_FALSE(cache->find(keyOf(1))) << bytes;
    cache->store(keyOf(1), kPayload);
    EXPECT_EQ(cache->find(keyOf(1)), kPayload) << bytes;
  }
}

TEST_F(EntryCacheTest, MissesAnEntryWithAChangedByte) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  for (uint64_t place = 0; place < fs::file_size(entry()); ++place) {
    overwrite(entry(), place, "?");
    EXPECT_FALSE(cache->find(keyOf(1))) << place;
    cache->store(keyOf(1), kPayload);
  }
  std::ofstream(entry(), std::ios::app | std::ios::binary) << "more";
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(EntryCacheTest, MissesAnEntryOfAnotherVersion) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  overwrite(entry(), 0, "MTPKERN1");
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(EntryCacheTest, MissesAnEntryOfAnotherKey) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  fs::path stored = entry();
  cache->store(keyOf(1, 1), {});
  fs::path other;
  for (const auto &file : fs::directory_iterator(stored.parent_path()))
    if (file.path() != stored)
      other = file.path();
  fs::copy_file(stored, other, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache->find(keyOf(1, 1)));
}

TEST_F(EntryCacheTest, RefusesAFolderThatOthersMayWriteTo) {
  fs::create_directories(folder());
  ASSERT_EQ(::chmod(folder().c_str(), 0775), 0);
  EXPECT_NE(openError().find("expected that only the owner of '" + folder() +
                             "' may write to it"),
            std::string::npos)
      << openError();
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  EXPECT_EQ(openError(), "");
}

TEST_F(EntryCacheTest, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away";
  fs::create_directories(folder());
  ASSERT_EQ(::chown(folder().c_str(), 1, 1), 0);
  EXPECT_NE(openError().find("to belong to user 0, got user 1"),
            std::string::npos)
      << openError();
}

TEST_F(EntryCacheTest, MissesAnEntryThatOthersMayWriteTo) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  ASSERT_EQ(::chmod(entry().c_str(), 0666), 0);
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(EntryCacheTest, MissesAnEntryOfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  ASSERT_EQ(::chown(entry().c_str(), 1, 1), 0);
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(EntryCacheTest, FollowsNoLinkAndWaitsForNoPipe) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  fs::path stored = entry(), elsewhere = root / "elsewhere";
  fs::rename(stored, elsewhere);
  fs::create_symlink(elsewhere, stored);
  EXPECT_FALSE(cache->find(keyOf(1)));
  fs::remove(stored);
  ASSERT_EQ(::mkfifo(stored.c_str(), 0600), 0);
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(EntryCacheTest, SaysThatAFolderCannotBeMade) {
  // No user can make a folder there.
  auto cache = EntryCache::open("/proc/mtpc/kernels");
  ASSERT_FALSE(cache.isOk());
  EXPECT_NE(std::string(cache.status().message())
                .find("cannot create '/proc/mtpc/kernels'"),
            std::string::npos);
  std::ofstream(root / "kernels") << "a file";
  EXPECT_NE(openError(), "");
}

TEST_F(EntryCacheTest, LeavesNothingIfTheDiskIsFull) {
  auto cache = open();
  cache->store(keyOf(1), kPayload);
  // A limit on the size of files makes a write fail half-way, like a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  cache->store(keyOf(2), std::vector<char>(100000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(cache->storeError().find("cannot write an entry"),
            std::string::npos)
      << cache->storeError();
  EXPECT_FALSE(cache->find(keyOf(2)));
  EXPECT_EQ(cache->find(keyOf(1)), kPayload);
  EXPECT_EQ(files(), 1u);
}

TEST_F(EntryCacheTest, IsSharedByThreadsAndObjects) {
  constexpr int kThreads = 4, kRounds = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([this] {
      auto cache = open();
      for (int round = 0; round < kRounds; ++round)
        for (uint8_t key = 0; key < 8; ++key) {
          std::vector<char> expected(1000 + key, char(key));
          auto found = cache->find(keyOf(key));
          EXPECT_TRUE(!found || *found == expected);
          cache->store(keyOf(key), expected);
          EXPECT_EQ(cache->find(keyOf(key)), expected);
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(files(), 8u);
}

TEST_F(EntryCacheTest, StoresBesideFilesOfAnotherObjectOrContainer) {
  // Another object of this process, or a process of another container, has the
  // same process id and counts from zero, too.
  auto cache = open();
  cache->store(keyOf(7), kPayload);
  fs::path shard = entry().parent_path();
  for (int number = 0; number < 3; ++number)
    std::ofstream(shard / ("tmp." + std::to_string(::getpid()) + "." +
                           std::to_string(number)))
        << "half an entry";
  auto other = open();
  other->store(keyOf(7, 1), kPayload);
  EXPECT_EQ(other->storeError(), "");
  EXPECT_EQ(other->find(keyOf(7, 1)), kPayload);
}

TEST_F(EntryCacheTest, RemovesWhatWasUsedLeastRecently) {
  // Shards share the size evenly: one of 256 shards may have 10,000 bytes.
  auto cache = open(256 * 10000);
  for (uint8_t i = 0; i < 8; ++i) {
    cache->store(keyOf(7, i), std::vector<char>(2000, char(i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(cache->find(keyOf(7, 0)));
  cache->trim();
  EXPECT_TRUE(cache->find(keyOf(7, 0)));
  for (uint8_t i = 1; i < 5; ++i)
    EXPECT_FALSE(cache->find(keyOf(7, i))) << int(i);
  for (uint8_t i = 5; i < 8; ++i)
    EXPECT_TRUE(cache->find(keyOf(7, i))) << int(i);
}

TEST_F(EntryCacheTest, RemovesWhatKilledProcessesLeft) {
  auto cache = open();
  cache->store(keyOf(7), kPayload);
  fs::path shard = entry().parent_path();
  for (const char *name : {"tmp.1.0", "tmp.1.1"})
    std::ofstream(shard / name) << "half an entry";
  fs::last_write_time(shard / "tmp.1.0",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache->trim();
  EXPECT_FALSE(fs::exists(shard / "tmp.1.0"));
  // Another process may still write to this one.
  EXPECT_TRUE(fs::exists(shard / "tmp.1.1"));
  EXPECT_EQ(cache->find(keyOf(7)), kPayload);
}

TEST(CacheFolder, IsTheUsersOwn) {
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  std::string xdg =
      std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "";
  ::setenv("HOME", "/home/me", 1);
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(defaultFolder("kernels"), "/cache/mtpc/kernels");
  ::setenv("XDG_CACHE_HOME", "not/absolute", 1);
  EXPECT_EQ(defaultFolder("kernels"), "/home/me/.cache/mtpc/kernels");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(defaultFolder("kernels"), "/home/me/.cache/mtpc/kernels");
  ::unsetenv("HOME");
  EXPECT_EQ(defaultFolder("kernels"), "");
  if (!home.empty())
    ::setenv("HOME", home.c_str(), 1);
  if (!xdg.empty())
    ::setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}
