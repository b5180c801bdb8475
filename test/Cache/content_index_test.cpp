//===- content_index_test.cpp - Digests of files --------------------------===//

#include "CacheTest.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/ContentIndex.h"

#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace mtp;
using namespace mtp::cache;
namespace fs = std::filesystem;

namespace {

class ContentIndexTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    auto opened = openPrivateFolder((root / "models").string());
    ASSERT_TRUE(opened.isOk()) << opened.status().message();
    folder = std::move(*opened);
  }

  static Digest digest(ContentIndex &index, const std::string &path) {
    auto digest = index.digest(path);
    EXPECT_TRUE(digest.isOk()) << digest.status().message();
    return *digest;
  }

  /// Waits until the index keeps the digests of files that exist now: a little
  /// longer than the three seconds that it requires.
  static void settle() {
    std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  }

  Descriptor folder;
};

} // namespace

TEST_F(ContentIndexTest, ReadsTheWholeFile) {
  ContentIndex index(folder.get());
  std::string text(3 << 20, 'x');
  std::string a = write("a", text), b = write("b", text);
  EXPECT_EQ(digest(index, a), digest(index, b));
  for (size_t place : {size_t(0), text.size() / 2, text.size() - 1}) {
    std::string other = text;
    other[place] = 'y';
    EXPECT_NE(digest(index, a), digest(index, write("c", other))) << place;
  }
  EXPECT_NE(digest(index, a), digest(index, write("c", text + "x")));
  uint64_t bytes = 0;
  EXPECT_TRUE(index.digest(a, [&](uint64_t part) { bytes += part; }).isOk());
  EXPECT_EQ(bytes, text.size());
}

TEST_F(ContentIndexTest, ReadsAFileOnceAfterItHasSettled) {
  std::string path = write("a", "content");
  {
    // A write in this moment might not change the times.
    ContentIndex index(folder.get());
    digest(index, path);
    EXPECT_TRUE(index.needsReading(path));
  }
  settle();
  Digest first;
  {
    ContentIndex index(folder.get());
    first = digest(index, path);
    EXPECT_FALSE(index.needsReading(path));
    index.save();
  }
  ContentIndex index(folder.get());
  EXPECT_FALSE(index.needsReading(path));
  EXPECT_EQ(digest(index, path), first);
  // Content, size and even modification time are equal.
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  timespec times[] = {info.st_atim, info.st_mtim};
  write("a", "CONTENT");
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_TRUE(index.needsReading(path));
  EXPECT_NE(digest(index, path), first);
  // Another file under the name, with equal size and time.
  fs::remove(path);
  write("a", "content");
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_TRUE(index.needsReading(path));
  EXPECT_EQ(digest(index, path), first);
}

TEST_F(ContentIndexTest, IgnoresABrokenIndexAndAForeignOne) {
  std::string path = write("a", "content");
  settle();
  std::string name = (root / "models" / "digests").string();
  Digest first;
  {
    ContentIndex index(folder.get());
    first = digest(index, path);
    index.save();
  }
  std::string text = read(name);
  ASSERT_FALSE(text.empty());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    fs::resize_file(name, bytes);
    ContentIndex index(folder.get());
    EXPECT_TRUE(index.needsReading(path)) << bytes;
    EXPECT_EQ(digest(index, path), first);
    std::ofstream(name) << text;
  }
  ASSERT_EQ(::chmod(name.c_str(), 0660), 0);
  EXPECT_TRUE(ContentIndex(folder.get()).needsReading(path));
  ASSERT_EQ(::chmod(name.c_str(), 0600), 0);
  EXPECT_FALSE(ContentIndex(folder.get()).needsReading(path));
}

TEST_F(ContentIndexTest, NamesAFileThatCannotBeRead) {
  ContentIndex index(folder.get());
  auto missing = index.digest((root / "none").string());
  EXPECT_NE(std::string(missing.status().message()).find("cannot read"),
            std::string::npos);
  EXPECT_FALSE(index.digest(root.string()).isOk());
  EXPECT_FALSE(index.digest("/dev/null").isOk());
}

TEST(DigestText, IsReadBack) {
  Hasher hasher;
  hasher.add("a");
  Digest digest = hasher.digest();
  EXPECT_EQ(parseDigest(toHex(digest)), digest);
  EXPECT_FALSE(parseDigest(toHex(digest) + "0"));
  EXPECT_FALSE(parseDigest(std::string(32, 'g')));
  Hasher other;
  other.add("");
  other.add("a");
  EXPECT_NE(other.digest(), digest);
}
