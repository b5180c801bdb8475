//===- WeightSet.cpp - The tensors of a checkpoint ------------------------===//

#include "compiler/Weights/WeightSet.h"

#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/Json.h"
#include "compiler/Weights/Shards.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace mtp {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxIndexBytes = 100'000'000;
/// The root object, the weight map, and metadata with some nesting.
constexpr size_t kMaxIndexDepth = 8;

std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

bool isInside(const fs::path &path, const fs::path &folder) {
  auto mismatch =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return mismatch.first == folder.end() && mismatch.second != path.end();
}

/// Returns the path of a shard that an index names. The index is untrusted, so
/// the name must be relative and without "..". After all symlinks the path must
/// be in the index's folder. The only exception is the hub's cache, whose
/// `snapshots/<revision>/` contains only links into the neighbouring `blobs/`.
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

/// The shard of each key by an index. Python wrote the index, so the last value
/// of a duplicate key counts.
using ShardMap = std::map<std::string, std::string>;

Result<ShardMap> readWeightMap(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(std::string text, readTextFile(path, kMaxIndexBytes));
  Result<JsonTree> document =
      parseJson(text, kMaxIndexDepth, JsonDialect::Python);
  if (!document)
    return document.status().withContext(inQuotes(path));
  simdjson::dom::object root, weightMap;
  std::optional<simdjson::dom::element> value;
  if (!document->root().get_object().get(root))
    value = findLast(root, "weight_map");
  if (!value || value->get_object().get(weightMap))
    return invalidArgument(inQuotes(path) +
                           ": expected an object in \"weight_map\"");
  ShardMap shards;
  for (auto field : weightMap) {
    std::string_view name;
    if (field.value.get_string().get(name))
      return invalidArgument(inQuotes(path) + ": expected a file name at " +
                             inQuotes(field.key) + ", got " +
                             describe(field.value));
    shards[std::string(field.key)] = name;
  }
  return shards;
}

size_t commonPrefix(std::string_view a, std::string_view b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                a.begin());
}

} // namespace

Result<std::vector<std::string>>
WeightSet::findFiles(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::path path = fs::path(folder) / name; fs::exists(path, error))
      return std::vector{path.string()};
  if (isGgufPath(folder))
    return findGgufFiles(folder);
  std::vector<std::string> files = listFiles(folder, ".safetensors");
  // Tools put such files beside a model's weights.
  std::erase_if(files, [](const std::string &path) {
    return fs::path(path).filename().string().starts_with("adapter_");
  });
  MTP_ASSIGN_OR_RETURN(std::vector<std::string> shards, findShards(files));
  if (!shards.empty())
    return shards;
  if (files.size() == 1)
    return files;
  std::string got;
  for (const std::string &path : files)
    got += (got.empty() ? ", got " : ", ") + fs::path(path).filename().string();
  return notFound("expected model.safetensors, model.safetensors.index.json or "
                  "all of model-00001-of-0000N.safetensors in " +
                  inQuotes(folder) + got);
}

Result<WeightSet> WeightSet::openFolder(const std::string &folder) {
  MTP_ASSIGN_OR_RETURN(std::vector<std::string> files, findFiles(folder));
  return openFiles(files);
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
    set.folder = fs::path(path).parent_path().string();
    MTP_RETURN_IF_ERROR(path.ends_with(".json") ? set.addIndex(path)
                                                : set.addFile(path));
    set.paths.push_back(path);
  }
  set.attachStored();
  return set;
}

bool WeightSet::isOpen(const std::string &path) const {
  return std::ranges::any_of(files, [&](const WeightFile &file) {
    std::error_code error;
    return fs::equivalent(path, file.file().path(), error);
  });
}

Status
WeightSet::addMixed(const std::string &folder,
                    const std::function<bool(std::string_view key)> &isWanted) {
  prefix.clear();
  this->folder = folder;
  for (const std::string &path : listFiles(folder, ".safetensors")) {
    if (isOpen(path))
      continue;
    MTP_ASSIGN_OR_RETURN(WeightFile file, WeightFile::open(path));
    bool hasAny = std::ranges::any_of(file.tensors(), [&](const auto &tensor) {
      return isWanted(tensor.first);
    });
    if (!hasAny)
      continue;
    MTP_RETURN_IF_ERROR(addFile(path));
    paths.push_back(path);
  }
  attachStored();
  return okStatus();
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
  if (!isGguf(files[file].file().bytes()))
    return okStatus();
  // The other part may be in an earlier shard.
  for (const auto &[key, entry] : files[file].tensors())
    MTP_RETURN_IF_ERROR(joinParts(key).withContext("\"" + path + "\": tensor " +
                                                   inQuotes(key)));
  return okStatus();
}

Status WeightSet::joinParts(const std::string &own) {
  std::optional<GgufPair> pair = names->findPair(own);
  if (!pair)
    return okStatus();
  auto first = index.find(prefix + pair->first);
  auto second = index.find(prefix + pair->second);
  if (first == index.end() || second == index.end())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(TensorJoin join,
                       names->join(*pair,
                                   viewOf(first->second, pair->first).shape,
                                   viewOf(second->second, pair->second).shape));
  join.parts = {TensorJoin::Part{first->second, pair->first},
                TensorJoin::Part{second->second, pair->second}};
  size_t file = first->second;
  index.erase(first);
  index.erase(second);
  std::string key = prefix + pair->joined;
  if (!index.emplace(key, file).second)
    return invalidArgument("expected " + inQuotes(key) +
                           " or its two parts, got both");
  joins.emplace(std::move(key), std::move(join));
  return okStatus();
}

Status WeightSet::addIndex(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(ShardMap weightMap, readWeightMap(path));
  std::map<std::string, size_t> shards;
  std::set<size_t> opened;
  for (const auto &[key, name] : weightMap) {
    auto shard = shards.find(name);
    if (shard == shards.end()) {
      Result<std::string> file =
          resolveShard(fs::path(path).parent_path() / ".", name);
      if (!file)
        return file.status().withContext(inQuotes(path));
      MTP_ASSIGN_OR_RETURN(size_t number, openShard(*file));
      shard = shards.emplace(name, number).first;
      opened.insert(number);
    }
    if (!files[shard->second].tensors().contains(key))
      return dataLoss(inQuotes(path) + ": expected " + inQuotes(key) + " in " +
                      inQuotes(name));
    MTP_RETURN_IF_ERROR(addKey(key, shard->second));
  }
  addUnlisted(opened);
  return okStatus();
}

/// Adds keys that an index omits from the shards that it names. A key in two
/// shards is ambiguous and stays out.
void WeightSet::addUnlisted(const std::set<size_t> &shards) {
  std::map<std::string, size_t> places;
  std::set<std::string> twice;
  for (size_t file : shards)
    for (const auto &[own, entry] : files[file].tensors())
      if (std::string key = prefixes[file] + own; !tensors.contains(key))
        if (!places.emplace(key, file).second)
          twice.insert(key);
  for (const auto &[key, file] : places)
    if (!twice.contains(key)) {
      index.emplace(key, file);
      tensors.emplace(key, file);
      unlisted.insert(key);
    }
}

Result<size_t> WeightSet::openShard(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(WeightFile file, WeightFile::open(path, names));
  files.push_back(std::move(file));
  prefixes.push_back(prefix);
  folders.push_back(folder.empty() ? "." : folder);
  return files.size() - 1;
}

Status WeightSet::addKey(const std::string &own, size_t file) {
  std::string key = prefixes[file] + own;
  auto [entry, isNew] = tensors.emplace(key, file);
  if (isNew) {
    index.emplace(key, file);
    return okStatus();
  }
  // Tools that write a module separately add copies of shared matrices.
  const WeightFile &first = files[entry->second], &second = files[file];
  std::string_view firstOwn =
      std::string_view(key).substr(prefixes[entry->second].size());
  const TensorEntry &left = first.tensors().find(firstOwn)->second;
  const TensorEntry &right = second.tensors().find(own)->second;
  if (left.type == right.type && left.shape == right.shape &&
      left.pairedRows == right.pairedRows && left.factor == right.factor &&
      left.tiledRows == right.tiledRows &&
      left.tiledColumns == right.tiledColumns &&
      std::ranges::equal(first.bytes(left), second.bytes(right)))
    return okStatus();
  return invalidArgument("key " + inQuotes(key) + " is both in " +
                         inQuotes(files[entry->second].file().path()) +
                         " and in " + inQuotes(files[file].file().path()));
}

TensorView WeightSet::viewOf(size_t number, std::string_view own) const {
  const WeightFile &file = files[number];
  const TensorEntry &entry = file.tensors().find(own)->second;
  TensorView view{entry.type, entry.shape, file.bytes(entry), &file.file()};
  view.pairedRows = entry.pairedRows;
  view.factor = entry.factor;
  view.tiledRows = entry.tiledRows;
  view.tiledColumns = entry.tiledColumns;
  return view;
}

std::optional<StoredPart> WeightSet::findPart(const std::string &key) const {
  auto found = tensors.find(key);
  if (found == tensors.end())
    return std::nullopt;
  size_t file = found->second;
  TensorView view = viewOf(file, key.substr(prefixes[file].size()));
  return StoredPart{view.type, view.shape, view.bytes};
}

const Result<QuantizationConfig> &WeightSet::configOf(size_t file) {
  const std::string &folder = folders[file];
  auto found = configs.find(folder);
  if (found == configs.end())
    found = configs.emplace(folder, readQuantizationConfig(folder)).first;
  return found->second;
}

void WeightSet::attach(const StoredWeight &weight) {
  size_t file = tensors.find(weight.codes)->second;
  auto read = [&]() -> Result<StoredTensor> {
    if (weight.key != weight.codes && tensors.contains(weight.key))
      return invalidArgument("expected " + inQuotes(weight.key) + " or " +
                             inQuotes(weight.codes) + ", got both");
    const Result<QuantizationConfig> &config = configOf(file);
    if (!config)
      return config.status();
    return readStoredWeight(
        weight, [&](const std::string &key) { return findPart(key); }, *config);
  };
  bool isUnlisted = unlisted.contains(weight.codes);
  for (const std::string &part : weight.parts)
    index.erase(part);
  index.erase(weight.codes);
  index.insert_or_assign(weight.key, file);
  if (isUnlisted)
    unlisted.insert(weight.key);
  quantized.insert_or_assign(weight.key, Quantized{weight.codes, read()});
}

void WeightSet::attachStored() {
  auto find = [&](const std::string &key) { return findPart(key); };
  std::vector<StoredWeight> found;
  for (const auto &[key, file] : index)
    if (!quantized.contains(key) && !isGguf(files[file].file().bytes()))
      if (std::optional<StoredWeight> weight = findStoredWeight(key, find))
        found.push_back(std::move(*weight));
  for (const StoredWeight &weight : found)
    attach(weight);
  std::erase_if(index, [&](const auto &entry) {
    return !isGguf(files[entry.second].file().bytes()) &&
           isActivationScale(entry.first);
  });
}

Result<TensorView> WeightSet::get(std::string_view key) const {
  if (auto joined = joins.find(key); joined != joins.end()) {
    const TensorJoin &join = joined->second;
    TensorView first = partOf(join, 0);
    TensorView view{first.type, join.shape, {}, first.file};
    if (partOf(join, 1).type != first.type)
      view.type = WeightType::F32;
    view.join = &join;
    return view;
  }
  if (auto found = quantized.find(key); found != quantized.end()) {
    const Quantized &weight = found->second;
    size_t file = tensors.find(weight.codes)->second;
    TensorView view = viewOf(file, weight.codes.substr(prefixes[file].size()));
    if (!weight.tensor)
      return weight.tensor.status().withContext(
          "weight " + inQuotes(key) + " in " + inQuotes(view.file->path()));
    view.stored = &*weight.tensor;
    view.shape = view.stored->shape();
    return view;
  }
  auto found = index.find(key);
  if (found != index.end())
    return viewOf(found->second, key.substr(prefixes[found->second].size()));
  std::string message = "no weight " + inQuotes(key);
  if (index.empty())
    return notFound(message + ", nor any other");
  // In sorted order a neighbour shares the longest prefix.
  auto nearest = index.lower_bound(key);
  if (nearest == index.end() || (nearest != index.begin() &&
                                 commonPrefix(std::prev(nearest)->first, key) >
                                     commonPrefix(nearest->first, key)))
    --nearest;
  return notFound(message + "; the nearest is " + inQuotes(nearest->first) +
                  " in " + inQuotes(files[nearest->second].file().path()));
}

Status WeightSet::checkUnchanged() const {
  for (const WeightFile &file : files)
    MTP_RETURN_IF_ERROR(file.file().checkUnchanged());
  return okStatus();
}

} // namespace mtp
