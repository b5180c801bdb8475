//===- GgufFiles.cpp - The files of a GGUF model --------------------------===//

#include "compiler/Weights/GgufFiles.h"

#include "compiler/Weights/Shards.h"
#include "runtime/core/PathKind.h"

#include <algorithm>
#include <filesystem>

namespace mtp {

namespace fs = std::filesystem;

namespace {

/// The converter's prefix of the names of files that contain MTP modules only.
constexpr std::string_view kModulePrefix = "mtp-";

std::string nameOf(const std::string &path) {
  return fs::path(path).filename().string();
}

/// Returns all shards of the set that a file belongs to.
Result<std::vector<std::string>> findSet(const std::string &path,
                                         const Shard &shard) {
  fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> files =
      listFiles(folder.empty() ? "." : folder.string(), ".gguf");
  std::erase_if(files, [&](const std::string &file) {
    std::optional<Shard> other = parseShard(file);
    return !other || other->stem != shard.stem || other->count != shard.count;
  });
  return findShards(files);
}

} // namespace

bool isGgufPath(const std::string &path) {
  PathKind kind = kindOf(path);
  return kind == PathKind::Gguf || kind == PathKind::GgufModel;
}

Result<std::vector<std::string>> findGgufFiles(const std::string &path) {
  if (kindOf(path) != PathKind::GgufModel) {
    std::optional<Shard> shard = parseShard(path);
    return shard && shard->count > 1
               ? findSet(path, *shard)
               : Result<std::vector<std::string>>(std::vector{path});
  }
  std::vector<std::string> files = listFiles(path, ".gguf");
  std::erase_if(files, [](const std::string &file) {
    return nameOf(file).starts_with("mmproj");
  });
  auto isModule = [](const std::string &file) {
    return nameOf(file).starts_with(kModulePrefix);
  };
  if (!std::ranges::all_of(files, isModule))
    std::erase_if(files, isModule);
  if (files.size() == 1)
    return findGgufFiles(files.front());
  bool areShards =
      !files.empty() && std::ranges::all_of(files, [](const std::string &file) {
        return parseShard(file).has_value();
      });
  if (areShards)
    return findShards(files);
  std::string got;
  for (const std::string &file : files)
    got += (got.empty() ? "" : ", ") + nameOf(file);
  return invalidArgument("expected one model in GGUF in \"" + path +
                         "\", got " + (got.empty() ? "none" : got) +
                         "; give the path of a file");
}

std::vector<std::string> findModuleFiles(const std::string &path) {
  if (kindOf(path) != PathKind::GgufModel)
    return {};
  std::vector<std::string> files = listFiles(path, ".gguf");
  std::erase_if(files, [](const std::string &file) {
    return !nameOf(file).starts_with(kModulePrefix);
  });
  return files;
}

} // namespace mtp
