//===- WeightSet.h - The tensors of a checkpoint ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTSET_H
#define MTP_COMPILER_WEIGHTS_WEIGHTSET_H

#include "compiler/Weights/StoredFormats.h"
#include "compiler/Weights/WeightFile.h"
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

/// One tensor of a WeightSet. Valid as long as the set exists.
struct TensorView {
  WeightType type;
  std::span<const int64_t> shape;
  std::span<const uint8_t> bytes;
  const InputFile *file = nullptr;
  /// See TensorEntry.
  int64_t pairedRows = 0;
  float factor = 1;
  /// If not null, the values are those of codes and scales. `shape` is then the
  /// weight's, `type` and `bytes` are the codes'.
  const StoredTensor *stored = nullptr;

  TiledHeads tiledRows, tiledColumns;
  /// If not null, the tensor is stored as two (WeightSet::partOf()). `bytes`
  /// is empty then. `type` is the parts' common type, or else F32.
  const TensorJoin *join = nullptr;

  /// Returns true if the bytes are the tensor's values row by row.
  bool isInOrder() const {
    return pairedRows == 0 && factor == 1 && tiledRows.width == 0 &&
           tiledColumns.width == 0 && !join && !stored;
  }

  /// Returns the format's name for reports.
  std::string_view format() const {
    return stored ? std::string_view(stored->name()) : toString(type);
  }

  /// Removes leading extents of 1 beyond `rank`, for example from a vector that
  /// is stored as [1, n].
  TensorView withRank(size_t rank) const {
    TensorView view = *this;
    while (view.shape.size() > rank && view.shape.front() == 1)
      view.shape = view.shape.subspan(1);
    return view;
  }
};

/// The tensors of one or more files under one set of keys.
/// Immutable after opening, so any number of threads may read it.
class WeightSet {
public:
  /// Returns the files of the checkpoint in a folder: `model.safetensors`, else
  /// `model.safetensors.index.json`, else all shards of one set, else the only
  /// safetensors file. `folder` may also be a model in GGUF (GgufFiles.h).
  static Result<std::vector<std::string>> findFiles(const std::string &folder);
  /// Opens the files of the checkpoint in a folder.
  static Result<WeightSet> openFolder(const std::string &folder);

  /// Opens files by path, each a file in safetensors or GGUF, or an index
  /// (`.json`). Shards of a GGUF model follow each other in order.
  /// `prefixes`, if not empty, has one prefix per path, which is added to the
  /// keys of the file. A key may be in two files if both have equal tensors.
  static Result<WeightSet>
  openFiles(std::span<const std::string> paths,
            std::span<const std::string> prefixes = {});

  /// Adds files of a folder that are not open and contain a wanted key: a
  /// module beside the model, or a shard that the index omits.
  Status addMixed(const std::string &folder,
                  const std::function<bool(std::string_view key)> &isWanted);

  /// Returns a set without files, which gives each recipe random values; see
  /// RandomWeights.h.
  static WeightSet random(uint64_t seed);

  /// Returns the seed of a random set.
  const std::optional<uint64_t> &randomSeed() const { return seed; }

  /// Returns true if there is a tensor with this key.
  bool contains(std::string_view key) const { return index.contains(key); }

  /// Returns the tensor with this key. If there is none, the error names the
  /// most similar key and its file.
  Result<TensorView> get(std::string_view key) const;

  /// Returns a stored tensor of a joined tensor.
  TensorView partOf(const TensorJoin &join, size_t part) const {
    return viewOf(join.parts[part].file, join.parts[part].key);
  }

  /// Returns true if a weight is stored as codes and scales.
  bool hasQuantized() const { return !quantized.empty(); }

  /// Returns false if the key's file has an index that omits the key.
  bool isListed(std::string_view key) const { return !unlisted.contains(key); }

  /// Returns all keys, sorted, each with the number of its file.
  const std::map<std::string, size_t, std::less<>> &keys() const {
    return index;
  }

  /// Returns the paths with which openFiles() opens an equal set.
  const std::vector<std::string> &sources() const { return paths; }

  /// Fails if a file changed since it was opened.
  Status checkUnchanged() const;

private:
  /// A quantised weight: the key of its codes, and its values or the reason why
  /// they cannot be read.
  struct Quantized {
    std::string codes;
    Result<StoredTensor> tensor;
  };

  Status addFile(const std::string &path);
  Status addIndex(const std::string &path);
  void addUnlisted(const std::set<size_t> &shards);
  Result<size_t> openShard(const std::string &path);
  Status addKey(const std::string &key, size_t file);
  /// Joins the tensor with this key with its other part, if both are open.
  Status joinParts(const std::string &own);
  /// Returns a tensor as its file stores it.
  TensorView viewOf(size_t file, std::string_view own) const;
  std::optional<StoredPart> findPart(const std::string &key) const;
  /// Gives quantised weights their keys, in place of their tensors'.
  void attachStored();
  void attach(const StoredWeight &weight);
  const Result<QuantizationConfig> &configOf(size_t file);
  bool isOpen(const std::string &path) const;

  std::vector<WeightFile> files;
  /// Joined tensors by their keys. Their parts have no keys.
  std::map<std::string, TensorJoin, std::less<>> joins;
  /// Names of the GGUF file that was opened last.
  std::optional<GgufNames> names;
  /// Key prefix and folder of each file. The folder of a shard is its index's.
  std::vector<std::string> prefixes, folders;
  /// Key prefix and folder of the files that are opened next.
  std::string prefix, folder;
  std::map<std::string, size_t, std::less<>> index;
  /// Like `index`, with all tensors of quantised weights and without the keys
  /// of these weights.
  std::map<std::string, size_t, std::less<>> tensors;
  /// Quantised weights by their keys.
  std::map<std::string, Quantized, std::less<>> quantized;
  /// Configs by the folders of the files.
  std::map<std::string, Result<QuantizationConfig>> configs;
  /// Keys that an index omits although it names their shard.
  std::set<std::string, std::less<>> unlisted;
  std::vector<std::string> paths;
  std::optional<uint64_t> seed;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTSET_H
