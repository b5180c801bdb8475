//===- StoredFormats.h - Weights stored in several tensors ------*- C++ -*-===//
//
// Recognises quantised weights by the names and types of tensors, and checks
// the tensors of a weight. FORMATS.md lists the formats.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_STOREDFORMATS_H
#define MTP_COMPILER_WEIGHTS_STOREDFORMATS_H

#include "compiler/Weights/QuantizationConfig.h"
#include "compiler/Weights/StoredTensor.h"
#include "runtime/core/Result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mtp {

/// A tensor as a file stores it.
struct StoredPart {
  WeightType type;
  std::span<const int64_t> shape;
  std::span<const uint8_t> bytes;
};

/// Returns the tensor with a key, if there is one.
using FindPart = std::function<std::optional<StoredPart>(const std::string &)>;

/// Formats of weights by the tensors that they have.
enum class StoredKind : uint8_t {
  Packed,  ///< `X.weight_packed`
  Columns, ///< `X.qweight`
  Blocks,  ///< `X_blocks`
  Float8,  ///< `X` of F8_E4M3, with scales
  Bytes,   ///< `X.weight` of I8 or U8, with scales
  Refused,
};

/// A weight, and the keys of the tensors that store it.
struct StoredWeight {
  StoredKind kind = StoredKind::Refused;
  std::string key;   ///< Of the weight.
  std::string codes; ///< Key of the codes.
  /// Keys of all other tensors.
  std::vector<std::string> parts;
  std::string reason; ///< Of a refused format, as the end of a message.
};

/// Returns the weight whose codes have the key; nothing if the key's tensor is
/// no codes.
std::optional<StoredWeight> findStoredWeight(const std::string &codes,
                                             const FindPart &find);

/// Checks the tensors of a weight.
Result<StoredTensor> readStoredWeight(const StoredWeight &weight,
                                      const FindPart &find,
                                      const QuantizationConfig &config);

/// Returns true for keys of scales of activations and of caches, which this
/// project does not store with few bits.
bool isActivationScale(std::string_view key);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_STOREDFORMATS_H
