//===- WeightSet.cpp - The tensors of a checkpoint ------------------------===//

#include "compiler/Weights/WeightSet.h"

#include "compiler/Weights/Json.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace mtp {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxIndexBytes = 100'000'000;
/// Root object, weight map, and metadata that may nest a little.
constexpr size_t kMaxIndexDepth = 8;

std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

bool isInside(const fs::path &path, const fs::path &folder) {
  auto mismatch =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return mismatch.first == folder.end() && mismatch.second != path.end();
}

/// Where a shard's name in an index leads. The index is untrusted: the name
/// must be relative, free of "..", and after all symlinks must still lie in
/// the index's folder. One exception is the hub's cache, whose
/// `snapshots/<revision>/` holds nothing but links into `blobs/` beside it.
Result<std::string> resolveShard(const fs::path &folder,
                                 std::string_view name) {
  fs::path relative(name);
  if (name.empty() || relative.is_absolute() ||
      name.find('\0') != std::string_view::npos ||
      std::find(relative.begin(), relative.end(), "..") != relative.end())
    return invalidArgument("expected a file name inside of the folder, got " +
                           inQuotes(name));
  std::error_code error;
  fs::path root = fs::canonical(folder, error);
  fs::path target = error ? fs::path() : fs::canonical(root / relative, error);
  if (error)
    return notFound("cannot open shard " + inQuotes(name) + ": " +
                    error.message());
  bool isSnapshot = root.parent_path().filename() == "snapshots";
  if (isInside(target, root) ||
      (isSnapshot &&
       isInside(target, root.parent_path().parent_path() / "blobs")))
    return target.string();
  return invalidArgument("shard " + inQuotes(name) +
                         " is a link that leaves the folder");
}

size_t commonPrefix(std::string_view a, std::string_view b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                a.begin());
}

} // namespace

Result<WeightSet> WeightSet::openFolder(const std::string &folder) {
  fs::path root(folder);
  std::error_code error;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(root / name, error)) {
      std::string path = (root / name).string();
      return openFiles({&path, 1});
    }
  return notFound("expected model.safetensors or model.safetensors.index.json "
                  "in " +
                  inQuotes(folder));
}

Result<WeightSet> WeightSet::openFiles(std::span<const std::string> paths,
                                       std::span<const std::string> prefixes) {
  if (!prefixes.empty() && prefixes.size() != paths.size())
    return invalidArgument("expected a prefix for each of " +
                           std::to_string(paths.size()) + " files, got " +
                           std::to_string(prefixes.size()));
  WeightSet set;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string &path = paths[i];
    set.prefix = prefixes.empty() ? "" : prefixes[i];
    MTP_RETURN_IF_ERROR(path.ends_with(".json") ? set.addIndex(path)
                                                : set.addFile(path));
    set.paths.push_back(path);
  }
  return set;
}

WeightSet WeightSet::random(uint64_t seed) {
  WeightSet set;
  set.seed = seed;
  return set;
}

Status WeightSet::addFile(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(size_t file, openShard(path));
  for (const auto &[key, entry] : files[file].tensors())
    MTP_RETURN_IF_ERROR(addKey(key, file));
  return okStatus();
}

Status WeightSet::addIndex(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(std::string text, readTextFile(path, kMaxIndexBytes));
  Result<StrictJson> document = StrictJson::parse(text, kMaxIndexDepth);
  if (!document)
    return document.status().withContext(inQuotes(path));
  simdjson::dom::object weightMap;
  if (document->root().at_key("weight_map").get_object().get(weightMap))
    return invalidArgument(inQuotes(path) +
                           ": expected an object in \"weight_map\"");
  std::map<std::string, size_t, std::less<>> shards;
  for (auto field : weightMap) {
    std::string_view name;
    if (field.value.get_string().get(name))
      return invalidArgument(inQuotes(path) + ": expected a file name at " +
                             inQuotes(field.key) + ", got " +
                             describe(field.value));
    auto shard = shards.find(name);
    if (shard == shards.end()) {
      Result<std::string> file =
          resolveShard(fs::path(path).parent_path() / ".", name);
      if (!file)
        return file.status().withContext(inQuotes(path));
      MTP_ASSIGN_OR_RETURN(size_t number, openShard(*file));
      shard = shards.emplace(name, number).first;
    }
    if (!files[shard->second].tensors().contains(field.key))
      return dataLoss(inQuotes(path) + ": expected " + inQuotes(field.key) +
                      " in " + inQuotes(name));
    MTP_RETURN_IF_ERROR(addKey(std::string(field.key), shard->second));
  }
  return okStatus();
}

Result<size_t> WeightSet::openShard(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  files.push_back(std::move(file));
  prefixes.push_back(prefix);
  return files.size() - 1;
}

Status WeightSet::addKey(const std::string &own, size_t file) {
  std::string key = prefixes[file] + own;
  auto [entry, isNew] = index.emplace(key, file);
  if (isNew)
    return okStatus();
  return invalidArgument("key " + inQuotes(key) + " is both in " +
                         inQuotes(files[entry->second].file().path()) +
                         " and in " + inQuotes(files[file].file().path()));
}

Result<TensorView> WeightSet::get(std::string_view key) const {
  auto found = index.find(key);
  if (found != index.end()) {
    const SafetensorsFile &file = files[found->second];
    std::string_view own = key.substr(prefixes[found->second].size());
    const TensorEntry &entry = file.tensors().find(own)->second;
    return TensorView{entry.type, entry.shape, file.bytes(entry), &file.file()};
  }
  std::string message = "no weight " + inQuotes(key);
  if (index.empty())
    return notFound(message + ", nor any other");
  // Of sorted keys, a neighbour shares the longest prefix.
  auto nearest = index.lower_bound(key);
  if (nearest == index.end() || (nearest != index.begin() &&
                                 commonPrefix(std::prev(nearest)->first, key) >
                                     commonPrefix(nearest->first, key)))
    --nearest;
  return notFound(message + "; the nearest is " + inQuotes(nearest->first) +
                  " in " + inQuotes(files[nearest->second].file().path()));
}

Status WeightSet::checkUnchanged() const {
  for (const SafetensorsFile &file : files)
    MTP_RETURN_IF_ERROR(file.file().checkUnchanged());
  return okStatus();
}

} // namespace mtp
