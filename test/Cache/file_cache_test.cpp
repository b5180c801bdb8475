//===- file_cache_test.cpp - Large files on disk --------------------------===//

#include "CacheTest.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/FileCache.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mtp;
using namespace mtp::cache;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMuch = uint64_t(1) << 30;

Digest keyOf(uint8_t number) {
  Digest key{};
  key.front() = number;
  return key;
}

class FileCacheTest : public FolderTest {
protected:
  std::string folder() const { return (root / "models").string(); }

  std::unique_ptr<FileCache> open(uint64_t mostBytes = kMuch) const {
    auto cache = FileCache::open(folder(), mostBytes);
    EXPECT_TRUE(cache.isOk()) << cache.status().message();
    return cache.isOk() ? std::move(*cache) : nullptr;
  }

  /// Makes the file of a key and returns it in use.
  static UsedFile put(FileCache &cache, uint8_t number,
                      const std::string &content) {
    auto maker = cache.make(keyOf(number), [] { ADD_FAILURE() << "waits"; });
    EXPECT_TRUE(maker.isOk()) << maker.status().message();
    std::string path = maker->folder() + "/made";
    std::ofstream(path) << content;
    auto used = cache.commit(*maker, path, "a test");
    EXPECT_TRUE(used.isOk()) << used.status().message();
    return std::move(*used);
  }

  std::string pathOf(uint8_t number, const std::string &extension) const {
    return folder() + "/" + toHex(keyOf(number)) + extension;
  }

  size_t files() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto &file : fs::directory_iterator(folder()))
      ++count;
    return count;
  }
};

/// Runs `work` in a child process, which ends without cleaning up.
pid_t inChild(const std::function<void()> &work) {
  pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  return child;
}

void waitUntil(const std::function<bool()> &isDone) {
  for (int i = 0; i < 2000 && !isDone(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(isDone());
}

} // namespace

TEST_F(FileCacheTest, FindsWhatWasMade) {
  auto cache = open();
  EXPECT_FALSE(cache->find(keyOf(1)));
  std::string path = put(*cache, 1, "content").path;
  EXPECT_EQ(read(path), "content");
  auto found = open()->find(keyOf(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, path);
  EXPECT_EQ(found->description.bytes, 7u);
  EXPECT_EQ(found->description.text, "a test");
  EXPECT_FALSE(cache->find(keyOf(2)));
  // The file and its description.
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileCacheTest, IsPrivateWhateverTheUmask) {
  mode_t before = ::umask(0);
  auto cache = open();
  put(*cache, 1, "content");
  ::umask(before);
  for (const char *extension : {".bin", ".txt"})
    EXPECT_EQ(fs::status(pathOf(1, extension)).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(cache->find(keyOf(1)));
}

TEST_F(FileCacheTest, MissesATruncatedFile) {
  auto cache = open();
  put(*cache, 1, "content");
  for (uint64_t bytes : {0, 1, 6, 8}) {
    fs::resize_file(pathOf(1, ".bin"), bytes);
    EXPECT_FALSE(cache->find(keyOf(1))) << bytes;
  }
  put(*cache, 1, "content");
  EXPECT_TRUE(cache->find(keyOf(1)));
}

TEST_F(FileCacheTest, MissesAFileWithABrokenDescription) {
  auto cache = open();
  put(*cache, 1, "content");
  std::string text = read(pathOf(1, ".txt"));
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    fs::resize_file(pathOf(1, ".txt"), bytes);
    EXPECT_FALSE(cache->find(keyOf(1))) << bytes;
    std::ofstream(pathOf(1, ".txt")) << text;
  }
  EXPECT_TRUE(cache->find(keyOf(1)));
  fs::remove(pathOf(1, ".txt"));
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(FileCacheTest, MissesWhatOthersMayWriteTo) {
  auto cache = open();
  for (const char *extension : {".bin", ".txt"}) {
    put(*cache, 1, "content");
    ASSERT_EQ(::chmod(pathOf(1, extension).c_str(), 0660), 0);
    EXPECT_FALSE(cache->find(keyOf(1))) << extension;
  }
  put(*cache, 1, "content");
  EXPECT_TRUE(cache->find(keyOf(1)));
  if (::geteuid() != 0)
    return;
  ASSERT_EQ(::chown(pathOf(1, ".bin").c_str(), 1, 1), 0);
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(FileCacheTest, RefusesAFolderOfOthers) {
  fs::create_directories(folder());
  ASSERT_EQ(::chmod(folder().c_str(), 0775), 0);
  auto cache = FileCache::open(folder(), kMuch);
  ASSERT_FALSE(cache.isOk());
  EXPECT_NE(std::string(cache.status().message())
                .find("expected that only the owner of '" + folder()),
            std::string::npos);
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  EXPECT_TRUE(FileCache::open(folder(), kMuch).isOk());
  if (::geteuid() != 0)
    return;
  ASSERT_EQ(::chown(folder().c_str(), 1, 1), 0);
  EXPECT_FALSE(FileCache::open(folder(), kMuch).isOk());
}

TEST_F(FileCacheTest, FollowsNoLink) {
  auto cache = open();
  put(*cache, 1, "content");
  fs::rename(pathOf(1, ".bin"), root / "elsewhere");
  fs::create_symlink(root / "elsewhere", pathOf(1, ".bin"));
  EXPECT_FALSE(cache->find(keyOf(1)));
}

TEST_F(FileCacheTest, LeavesNothingIfTheWorkFails) {
  auto cache = open();
  {
    auto maker = cache->make(keyOf(1), [] {});
    ASSERT_TRUE(maker.isOk());
    std::ofstream(maker->folder() + "/half") << "half";
    EXPECT_FALSE(cache->commit(*maker, maker->folder() + "/made", "").isOk());
  }
  EXPECT_FALSE(cache->find(keyOf(1)));
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileCacheTest, LeavesNothingIfTheDiskIsFull) {
  auto cache = open();
  // A limit on the size of files makes a write fail, like a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    auto maker = cache->make(keyOf(1), [] {});
    ASSERT_TRUE(maker.isOk());
    std::string path = maker->folder() + "/made";
    std::ofstream(path) << "content";
    rlimit none = before;
    none.rlim_cur = 8;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    auto used = cache->commit(*maker, path, "a test");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(used.isOk());
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(cache->find(keyOf(1)));
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileCacheTest, OneProcessMakesWhileOthersWait) {
  constexpr int kThreads = 4;
  std::atomic<int> made = 0, waited = 0, loaded = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      auto cache = open();
      auto maker = cache->make(keyOf(1), [&] { ++waited; });
      ASSERT_TRUE(maker.isOk()) << maker.status().message();
      if (cache->find(keyOf(1))) {
        ++loaded;
        return;
      }
      // Until all others wait.
      waitUntil([&] { return waited == kThreads - 1; });
      std::string path = maker->folder() + "/made";
      std::ofstream(path) << "content";
      EXPECT_TRUE(cache->commit(*maker, path, "").isOk());
      ++made;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(waited, kThreads - 1);
  EXPECT_EQ(loaded, kThreads - 1);
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileCacheTest, AKilledProcessFreesTheLockAndItsFilesAreNotUsed) {
  auto cache = open();
  pid_t child = inChild([&] {
    auto maker = open()->make(keyOf(1), [] {});
    std::ofstream(maker->folder() + "/made") << "half";
    std::ofstream(root / "ready") << "";
    ::pause();
  });
  waitUntil([&] { return fs::exists(root / "ready"); });
  std::atomic<bool> hasWaited = false;
  std::thread other([&] {
    auto maker = open()->make(keyOf(1), [&] { hasWaited = true; });
    ASSERT_TRUE(maker.isOk());
    EXPECT_TRUE(fs::is_empty(maker->folder()));
  });
  waitUntil([&] { return hasWaited.load(); });
  EXPECT_FALSE(cache->find(keyOf(1)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  other.join();
  EXPECT_FALSE(cache->find(keyOf(1)));
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileCacheTest, TrimRemovesWhatKilledProcessesLeft) {
  auto cache = open();
  put(*cache, 2, "content");
  pid_t child = inChild([&] {
    auto maker = open()->make(keyOf(1), [] {});
    std::ofstream(maker->folder() + "/made") << "half";
    ::kill(::getpid(), SIGKILL);
  });
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(files(), 4u);
  // A running process keeps its own.
  auto maker = cache->make(keyOf(3), [] {});
  ASSERT_TRUE(maker.isOk());
  cache->trim();
  EXPECT_TRUE(fs::exists(maker->folder()));
  EXPECT_FALSE(fs::exists(pathOf(1, ".work")));
  EXPECT_FALSE(fs::exists(pathOf(1, ".lock")));
  EXPECT_TRUE(cache->find(keyOf(2)));
}

TEST_F(FileCacheTest, RemovesWhatWasUsedLeastRecently) {
  auto cache = open(3000);
  for (uint8_t i = 0; i < 5; ++i) {
    put(*cache, i, std::string(1000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(cache->find(keyOf(0)));
  cache->trim();
  for (uint8_t i : {0, 3, 4})
    EXPECT_TRUE(cache->find(keyOf(i))) << int(i);
  for (uint8_t i : {1, 2})
    EXPECT_FALSE(cache->find(keyOf(i))) << int(i);
  EXPECT_EQ(files(), 6u);
}

TEST_F(FileCacheTest, KeepsAFileInUse) {
  auto cache = open(1000);
  pid_t child = inChild([&] {
    UsedFile used = put(*open(), 1, std::string(1000, 'x'));
    std::ofstream(root / "ready") << "";
    ::pause();
  });
  waitUntil([&] { return fs::exists(root / "ready"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  put(*cache, 2, std::string(1000, 'x'));
  cache->trim();
  EXPECT_EQ(cache->list().size(), 2u);
  EXPECT_TRUE(cache->list().back().isInUse);
  EXPECT_FALSE(cache->list().front().isInUse);
  EXPECT_EQ(cache->clear(), 1u);
  EXPECT_FALSE(cache->find(keyOf(2)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(cache->find(keyOf(1)));
  EXPECT_EQ(cache->clear(), 0u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileCacheTest, AReplacedFileStaysForItsUsers) {
  auto cache = open();
  UsedFile old = put(*cache, 1, "old");
  put(*cache, 1, "new content");
  char text[4] = {};
  EXPECT_EQ(::pread(old.file.get(), text, 3, 0), 3);
  EXPECT_EQ(std::string(text), "old");
  EXPECT_EQ(read(cache->find(keyOf(1))->path), "new content");
}

TEST_F(FileCacheTest, ADescriptionIsOneLineForTerminals) {
  auto cache = open();
  auto maker = cache->make(keyOf(1), [] {});
  ASSERT_TRUE(maker.isOk());
  std::string path = maker->folder() + "/made";
  std::ofstream(path) << "content";
  ASSERT_TRUE(cache->commit(*maker, path, "a\nb\033[2Jc").isOk());
  EXPECT_EQ(cache->find(keyOf(1))->description.text, "a?b?[2Jc");
}
