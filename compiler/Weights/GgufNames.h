//===- GgufNames.h - Hugging Face's keys of GGUF tensors --------*- C++ -*-===//
//
// The tensors of a GGUF model get the keys and shapes of the Hugging Face
// folder that the file was converted from. So the readers of families know one
// set of keys. Values are not changed: rows that the converter reordered keep
// their place, and the entry says so.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_GGUFNAMES_H
#define MTP_COMPILER_WEIGHTS_GGUFNAMES_H

#include "compiler/Weights/Gguf.h"
#include "compiler/Weights/TensorEntry.h"
#include "runtime/core/Result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mtp {

/// A name in GGUF, and Hugging Face's key.
struct GgufName {
  std::string_view gguf, key;
};

/// A family of models or drafters in GGUF.
struct GgufFamily {
  std::string_view architecture; ///< `general.architecture`.
  std::string_view modelType;    ///< `model_type` of config.json.
  /// True if the converter interleaves the rotary halves of q and k.
  bool pairsRows = false;
  /// Names within a layer that differ from the usual ones.
  std::span<const GgufName> names = {};
  /// Names outside layers.
  std::span<const GgufName> globals = {};
  /// Order of the heads in recurrent layers, if the family has any.
  enum class Heads {
    None,
    Tiled,     ///< See TiledHeads.
    ByKeyHead, ///< In order; Hugging Face groups projections by key head.
  } heads = Heads::None;
  bool isDrafter = false;
};

/// Largest number of elements of a list with a value for each layer.
inline constexpr uint64_t kMostLayerValues = 1 << 16;

/// Returns the family of a file with metadata. The error lists the families
/// that are read.
Result<GgufFamily> findGgufFamily(const GgufHeader &header);

/// Keys of two stored tensors, and of the tensor that they are in Hugging
/// Face's folders.
struct GgufPair {
  std::string first, second, joined;
};

/// The names of one model's tensors, from its first file.
class GgufNames {
public:
  /// Reads the names' facts from a file. A file without metadata must be the
  /// next shard of `previous`.
  static Result<GgufNames> read(const GgufHeader &header,
                                const std::optional<GgufNames> &previous);

  /// Returns the tensors of a file under Hugging Face's keys. The experts of a
  /// layer, which GGUF stacks, are entries of their own. A tensor that the
  /// family does not have keeps its name after the layer's prefix. `bytes` is
  /// the whole file.
  Result<TensorMap> translate(const GgufHeader &header,
                              std::span<const uint8_t> bytes) const;

  /// Returns the pair that a tensor belongs to, by the tensor's key.
  std::optional<GgufPair> findPair(std::string_view key) const;
  /// Joins a pair of tensors of these shapes.
  Result<TensorJoin> join(const GgufPair &pair, std::span<const int64_t> first,
                          std::span<const int64_t> second) const;

private:
  struct LayerName;

  Status readRecurrence(const GgufHeader &header);
  std::optional<LayerName> parseLayer(std::string_view name) const;
  /// Returns Hugging Face's key. An unknown name stays as it is, after the
  /// layer's prefix.
  std::string keyOf(const LayerName &layer) const;
  /// `most` limits the number of entries of stacks, here and below.
  Status addTensor(const GgufTensor &tensor, uint64_t most,
                   TensorMap &tensors) const;
  Status addFused(const TensorEntry &entry, const LayerName &layer,
                  TensorMap &tensors) const;
  Status addGatesAndUps(const TensorEntry &entry, const LayerName &layer,
                        uint64_t most, TensorMap &tensors) const;
  /// Sets the order of heads.
  Status orderHeads(const LayerName &layer, TensorEntry &entry) const;

  GgufFamily family;
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  /// The number of layers before those of MTP modules.
  int64_t layers = 0;
  /// Recurrent layers: heads and their widths.
  int64_t keyHeads = 1, valueHeads = 1, keys = 0, values = 0;
  /// The number of files of the set, and the number of the last one read.
  int64_t shards = 1, shard = 0;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFNAMES_H
