//===- CacheTest.h - Folders for tests of caches ----------------*- C++ -*-===//

#ifndef MTP_TEST_CACHE_CACHETEST_H
#define MTP_TEST_CACHE_CACHETEST_H

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <stdlib.h>
#include <string>

namespace mtp::cache {

/// A folder that is removed after the test.
class FolderTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "mtp-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(root / name, std::ios::binary) << text;
    return (root / name).string();
  }

  static std::string read(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::filesystem::path root;
};

} // namespace mtp::cache

#endif // MTP_TEST_CACHE_CACHETEST_H
