//===- weight_set_test.cpp - Folders, shards and their paths --------------===//

#include "compiler/Weights/WeightSet.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

std::string shard(const std::string &key) {
  return FileBuilder().addF32(key, {1}, {1}).build();
}

std::string indexOf(const std::string &key, const std::string &file) {
  return "{\"metadata\":{},\"weight_map\":{\"" + key + "\":\"" + file + "\"}}";
}

constexpr const char *kIndex = "model.safetensors.index.json";

void expectError(const Result<WeightSet> &set, const std::string &text) {
  ASSERT_FALSE(set.isOk()) << "expected: " << text;
  EXPECT_NE(set.status().message().find(text), std::string_view::npos)
      << set.status().toString();
}

TEST(WeightSet, OpensASingleFile) {
  TemporaryFolder folder;
  folder.write("model.safetensors", shard("a"));
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  EXPECT_TRUE(set->contains("a"));
  EXPECT_EQ(set->sources().size(), 1u);
  auto view = set->get("a");
  ASSERT_TRUE(view.isOk());
  EXPECT_EQ(view->bytes.size(), 4u);
  EXPECT_TRUE(set->checkUnchanged().isOk());
}

TEST(WeightSet, OpensShards) {
  TemporaryFolder folder;
  folder.write("one.safetensors", shard("a"));
  folder.write("two.safetensors", shard("b"));
  folder.write(kIndex, "{\"weight_map\":{\"a\":\"one.safetensors\","
                       "\"b\":\"two.safetensors\"}}");
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  EXPECT_EQ(set->keys().size(), 2u);
  std::string both[] = {folder.path("one.safetensors"),
                        folder.path("two.safetensors")};
  EXPECT_TRUE(WeightSet::openFiles(both).isOk());
}

TEST(WeightSet, PrefersASingleFile) {
  TemporaryFolder folder;
  folder.write("model.safetensors", shard("a"));
  folder.write(kIndex, indexOf("b", "none.safetensors"));
  EXPECT_TRUE(WeightSet::openFolder(folder.path()).isOk());
}

TEST(WeightSet, NamesTheNearestKey) {
  TemporaryFolder folder;
  folder.write("model.safetensors", FileBuilder()
                                        .addF32("model.layers.0.up", {1}, {1})
                                        .addF32("model.norm", {1}, {1})
                                        .build());
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk());
  auto view = set->get("model.layers.0.down");
  ASSERT_FALSE(view.isOk());
  EXPECT_EQ(view.status().code(), StatusCode::NotFound);
  EXPECT_NE(view.status().message().find(
                "no weight \"model.layers.0.down\"; the nearest is "
                "\"model.layers.0.up\" in"),
            std::string_view::npos)
      << view.status().toString();
  EXPECT_FALSE(set->get("").isOk());
  EXPECT_FALSE(set->get("zzz").isOk());
}

TEST(WeightSet, RefusesNamesThatLeaveTheFolder) {
  TemporaryFolder folder;
  folder.write("other/x.safetensors", shard("a"));
  for (std::string name :
       {"../other/x.safetensors", "sub/../../other/x.safetensors", "..", "",
        "x\\u0000y"}) {
    folder.write(std::string("hf/") + kIndex, indexOf("a", name));
    expectError(WeightSet::openFolder(folder.path("hf")),
                "expected a file name inside of the folder");
  }
  folder.write(std::string("hf/") + kIndex,
               indexOf("a", folder.path("other/x.safetensors")));
  expectError(WeightSet::openFolder(folder.path("hf")),
              "expected a file name inside of the folder");
}

TEST(WeightSet, RefusesLinksThatLeaveTheFolder) {
  TemporaryFolder folder;
  folder.write("other/x.safetensors", shard("a"));
  folder.write(std::string("hf/") + kIndex, indexOf("a", "x.safetensors"));
  std::filesystem::create_symlink("../other/x.safetensors",
                                  folder.path("hf/x.safetensors"));
  expectError(WeightSet::openFolder(folder.path("hf")), "leaves the folder");
  // A link within the folder is fine.
  std::filesystem::remove(folder.path("hf/x.safetensors"));
  folder.write("hf/real.safetensors", shard("a"));
  std::filesystem::create_symlink("real.safetensors",
                                  folder.path("hf/x.safetensors"));
  EXPECT_TRUE(WeightSet::openFolder(folder.path("hf")).isOk());
}

TEST(WeightSet, FollowsTheHubCache) {
  TemporaryFolder folder;
  folder.write("blobs/123", shard("a"));
  folder.write(std::string("snapshots/rev/") + kIndex,
               indexOf("a", "x.safetensors"));
  std::filesystem::create_symlink("../../blobs/123",
                                  folder.path("snapshots/rev/x.safetensors"));
  auto set = WeightSet::openFolder(folder.path("snapshots/rev"));
  EXPECT_TRUE(set.isOk()) << set.status().toString();
}

TEST(WeightSet, RefusesBadIndices) {
  TemporaryFolder folder;
  folder.write("x.safetensors", shard("a"));
  auto open = [&](const std::string &text) {
    folder.write(kIndex, text);
    return WeightSet::openFolder(folder.path());
  };
  expectError(open(""), "valid JSON");
  expectError(open("[]"), "weight_map");
  expectError(open("{\"weight_map\":[]}"), "weight_map");
  expectError(open("{\"weight_map\":{\"a\":1}}"), "got an integer");
  expectError(open(indexOf("b", "x.safetensors")), "expected \"b\" in");
  expectError(open(indexOf("a", "none.safetensors")), "cannot open shard");
  expectError(open("{\"weight_map\":{\"a\":\"x.safetensors\","
                   "\"a\":\"x.safetensors\"}}"),
              "duplicate key");
  expectError(open(std::string(100000, '[') + std::string(100000, ']')),
              "nested at most");
  folder.write("short.safetensors", shard("a").substr(0, 20));
  expectError(open(indexOf("a", "short.safetensors")), "short.safetensors");
}

TEST(WeightSet, RefusesAKeyInTwoFiles) {
  TemporaryFolder folder;
  std::string both[] = {folder.write("one.safetensors", shard("a")),
                        folder.write("two.safetensors", shard("a"))};
  expectError(WeightSet::openFiles(both), "key \"a\" is both in");
}

TEST(WeightSet, TellsFilesApartByTheirPrefixes) {
  TemporaryFolder folder;
  std::string both[] = {folder.write("one.safetensors", shard("a")),
                        folder.write("two.safetensors", shard("a"))};
  std::string prefixes[] = {"", "drafter."};
  auto set = WeightSet::openFiles(both, prefixes);
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  EXPECT_EQ(set->get("a")->file->path(), both[0]);
  EXPECT_EQ(set->get("drafter.a")->file->path(), both[1]);
  EXPECT_NE(set->get("drafter.b")
                .status()
                .message()
                .find("the nearest is \"drafter.a\""),
            std::string_view::npos);
  expectError(WeightSet::openFiles(both, {prefixes, 1}),
              "expected a prefix for each of 2 files, got 1");
}

TEST(WeightSet, RefusesAFolderWithoutWeights) {
  TemporaryFolder folder;
  expectError(WeightSet::openFolder(folder.path()),
              "expected model.safetensors");
  auto empty = WeightSet::openFiles({});
  ASSERT_TRUE(empty.isOk());
  EXPECT_FALSE(empty->get("a").isOk());
}

TEST(WeightSet, NoticesAChangedFile) {
  TemporaryFolder folder;
  folder.write("model.safetensors", shard("a"));
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk());
  std::filesystem::resize_file(folder.path("model.safetensors"), 10);
  EXPECT_EQ(set->checkUnchanged().code(), StatusCode::DataLoss);
}

} // namespace
