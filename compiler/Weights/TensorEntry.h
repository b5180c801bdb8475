//===- TensorEntry.h - The place of a tensor in its file --------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_TENSORENTRY_H
#define MTP_COMPILER_WEIGHTS_TENSORENTRY_H

#include "compiler/Weights/WeightType.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// The place of one tensor in its file.
struct TensorEntry {
  WeightType type;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< From the start of the file.
  uint64_t size = 0;   ///< In bytes.
  /// If not 0: each run of `pairedRows` rows is a head, in which the rows of
  /// the two halves of a rotation alternate. Row i of half h is at 2 * i + h.
  int64_t pairedRows = 0;
  float factor = 1; ///< Multiplies each value.

  bool operator==(const TensorEntry &) const = default;
};

using TensorMap = std::map<std::string, TensorEntry, std::less<>>;

/// Returns a shape as text: "[2, 3]".
inline std::string formatShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_TENSORENTRY_H
