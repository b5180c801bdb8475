//===- WeightSet.h - The tensors of a checkpoint ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTSET_H
#define MTP_COMPILER_WEIGHTS_WEIGHTSET_H

#include "compiler/Weights/Safetensors.h"
#include "runtime/core/Result.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// One tensor of a WeightSet; valid while the set lives.
struct TensorView {
  WeightType type;
  std::span<const int64_t> shape;
  std::span<const uint8_t> bytes;
  const InputFile *file = nullptr;

  /// The tensor without the leading extents of 1 that it has beyond `rank`, as
  /// where a vector is stored as [1, n].
  TensorView withRank(size_t rank) const {
    TensorView view = *this;
    while (view.shape.size() > rank && view.shape.front() == 1)
      view.shape = view.shape.subspan(1);
    return view;
  }
};

/// The tensors of one or many safetensors files under one set of keys.
/// Immutable once opened, so any number of threads may read it.
class WeightSet {
public:
  /// The files of the checkpoint in a folder: `model.safetensors`, or else
  /// `model.safetensors.index.json`, or else all shards of one set, or else the
  /// one file that there is.
  static Result<std::vector<std::string>> findFiles(const std::string &folder);
  /// Opens these.
  static Result<WeightSet> openFolder(const std::string &folder);

  /// Opens files by path, each a `.safetensors` file or an index (`.json`).
  /// With `prefixes`, one for each path, the keys of a file begin with its
  /// prefix. A key may be in two files if both have the same tensor.
  static Result<WeightSet>
  openFiles(std::span<const std::string> paths,
            std::span<const std::string> prefixes = {});

  /// Adds the files in a folder that are not open and have a key that is
  /// wanted: a module beside the model, or a shard that the index omits.
  Status addBeside(const std::string &folder,
                   const std::function<bool(std::string_view key)> &isWanted);

  /// A set without files, from which every recipe gets random values; see
  /// RandomWeights.h.
  static WeightSet random(uint64_t seed);

  /// The seed of a random set.
  const std::optional<uint64_t> &randomSeed() const { return seed; }

  /// Whether there is a tensor of that key.
  bool contains(std::string_view key) const { return index.contains(key); }

  /// The tensor of that key. If there is none, the error names the most
  /// similar key and its file.
  Result<TensorView> get(std::string_view key) const;

  /// Whether a file's index names the key, if the file has one.
  bool isListed(std::string_view key) const { return !unlisted.contains(key); }

  /// All keys, sorted, each with the number of its file.
  const std::map<std::string, size_t, std::less<>> &keys() const {
    return index;
  }

  /// The paths to give to openFiles() to open the same set again.
  const std::vector<std::string> &sources() const { return paths; }

  /// Fails if any of the files changed since it was opened.
  Status checkUnchanged() const;

private:
  Status addFile(const std::string &path);
  Status addIndex(const std::string &path);
  void addUnlisted(const std::set<size_t> &shards);
  Result<size_t> openShard(const std::string &path);
  Status addKey(const std::string &key, size_t file);
  bool isOpen(const std::string &path) const;

  std::vector<SafetensorsFile> files;
  /// Of each file, what stands in front of its keys.
  std::vector<std::string> prefixes;
  /// What stands in front of the keys of files that are opened next.
  std::string prefix;
  std::map<std::string, size_t, std::less<>> index;
  /// Keys that an index leaves out of a shard that it names.
  std::set<std::string, std::less<>> unlisted;
  std::vector<std::string> paths;
  std::optional<uint64_t> seed;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTSET_H
