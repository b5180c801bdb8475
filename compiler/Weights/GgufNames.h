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
#include <string>
#include <string_view>

namespace mtp {

/// A family of models in GGUF.
struct GgufFamily {
  std::string_view architecture; ///< `general.architecture`.
  std::string_view modelType;    ///< `model_type` of config.json.
  /// True if the converter interleaves the rotary halves of q and k.
  bool pairsRows = false;
};

/// Largest number of elements of a list with a value for each layer.
inline constexpr uint64_t kMostLayerValues = 1 << 16;

/// Returns the family of a file with metadata. The error lists the families
/// that are read.
Result<GgufFamily> findGgufFamily(const GgufHeader &header);

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

private:
  Status addTensor(const GgufTensor &tensor, TensorMap &tensors) const;

  GgufFamily family;
  int64_t heads = 0, kvHeads = 0;
  /// The number of files of the set, and the number of the last one read.
  int64_t shards = 1, shard = 0;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFNAMES_H
