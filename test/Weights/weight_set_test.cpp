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
  // A link within the folder is accepted.
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
  expectError(open(std::string(100000, '[') + std::string(100000, ']')),
              "nested at most");
  folder.write("short.safetensors", shard("a").substr(0, 20));
  expectError(open(indexOf("a", "short.safetensors")), "short.safetensors");
}

/// Python writes an index: the last value of a duplicate key counts, and a
/// number may have any size (jzhang38/TinyLlama#23, sgl-project/sglang#37054).
TEST(WeightSet, ReadsIndicesAsPythonDoes) {
  TemporaryFolder folder;
  folder.write("x.safetensors", shard("a"));
  folder.write(kIndex, "{\"metadata\":{\"total_size\":"
                       "1000000000000000019884624838656,\"loss\":NaN},"
                       "\"weight_map\":{\"b\":\"none.safetensors\"},"
                       "\"weight_map\":{\"a\":\"none.safetensors\","
                       "\"a\":\"x.safetensors\"}}");
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  EXPECT_EQ(set->keys().size(), 1u);
}

/// Keys that an index omits are in the set and marked as such (vllm#35548). A
/// key in two shards is ignored.
TEST(WeightSet, ReadsKeysThatAnIndexOmits) {
  TemporaryFolder folder;
  folder.write(
      "x.safetensors",
      FileBuilder().addF32("a", {1}, {1}).addF32("m", {1}, {2}).build());
  folder.write("y.safetensors", FileBuilder()
                                    .addF32("a", {1}, {3})
                                    .addF32("b", {1}, {4})
                                    .addF32("n", {1}, {5})
                                    .build());
  folder.write(
      "z.safetensors",
      FileBuilder().addF32("c", {1}, {6}).addF32("n", {1}, {7}).build());
  folder.write(kIndex, "{\"weight_map\":{\"a\":\"x.safetensors\","
                       "\"b\":\"y.safetensors\",\"c\":\"z.safetensors\"}}");
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  EXPECT_TRUE(set->contains("m") && !set->isListed("m"));
  EXPECT_TRUE(set->isListed("a") && !set->contains("n"));
  float value;
  std::memcpy(&value, set->get("a")->bytes.data(), sizeof value);
  EXPECT_EQ(value, 1);
}

TEST(WeightSet, RefusesAKeyInTwoFiles) {
  TemporaryFolder folder;
  std::string both[] = {
      folder.write("one.safetensors", shard("a")),
      folder.write("two.safetensors",
                   FileBuilder().addF32("a", {1}, {2}).build())};
  expectError(WeightSet::openFiles(both), "key \"a\" is both in");
  // A copy is no other tensor.
  folder.write("two.safetensors", shard("a"));
  EXPECT_TRUE(WeightSet::openFiles(both).isOk());
}

/// Report h: a complete set of shards needs no index.
TEST(WeightSet, FindsShardsWithoutAnIndex) {
  TemporaryFolder folder;
  auto open = [&] { return WeightSet::openFolder(folder.path()); };
  folder.write("model-00001-of-00001.safetensors", shard("a"));
  folder.write("adapter_model.safetensors", shard("b"));
  ASSERT_TRUE(open().isOk()) << open().status().toString();
  EXPECT_TRUE(open()->contains("a") && !open()->contains("b"));
  // A shard of another set is one too many.
  folder.write("other-00001-of-00002.safetensors", shard("c"));
  expectError(open(), "expected the shards of one set without an index");
  TemporaryFolder sets;
  auto openSet = [&] { return WeightSet::openFolder(sets.path()); };
  sets.write("m-1-of-2.safetensors", shard("a"));
  expectError(openSet(), "expected 2 shards \"m-N\" without an index, got none "
                         "of the number 2");
  sets.write("m-2-of-2.safetensors", shard("b"));
  sets.write("mtp.safetensors", shard("c"));
  ASSERT_TRUE(openSet().isOk()) << openSet().status().toString();
  EXPECT_EQ(openSet()->keys().size(), 2u);
}

TEST(WeightSet, TakesTheOnlyFile) {
  TemporaryFolder folder;
  expectError(WeightSet::openFolder(folder.path()),
              "expected model.safetensors, model.safetensors.index.json or ");
  folder.write("weights.safetensors", shard("a"));
  EXPECT_TRUE(WeightSet::openFolder(folder.path()).isOk());
  folder.write("more.safetensors", shard("b"));
  expectError(WeightSet::openFolder(folder.path()),
              ", got more.safetensors, weights.safetensors");
}

/// A module beside the model, and a shard that no index names (vllm#35548,
/// omlx#2062, vmlx-swift#388).
TEST(WeightSet, AddsFilesWithWantedKeys) {
  TemporaryFolder folder;
  folder.write("model.safetensors", shard("a"));
  folder.write(
      "mtp.safetensors",
      FileBuilder().addF32("a", {1}, {1}).addF32("mtp.b", {1}, {2}).build());
  folder.write("other.safetensors", shard("c"));
  auto set = WeightSet::openFolder(folder.path());
  ASSERT_TRUE(set.isOk()) << set.status().toString();
  auto isWanted = [](std::string_view key) { return key.starts_with("mtp."); };
  ASSERT_TRUE(set->addMixed(folder.path(), isWanted).isOk());
  EXPECT_TRUE(set->contains("mtp.b") && !set->contains("c"));
  EXPECT_EQ(set->sources(), (std::vector{folder.path("model.safetensors"),
                                         folder.path("mtp.safetensors")}));
  // Open files are not opened again.
  ASSERT_TRUE(set->addMixed(folder.path(), isWanted).isOk());
  EXPECT_EQ(set->sources().size(), 2u);
  EXPECT_TRUE(WeightSet::openFiles(set->sources()).isOk());
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
