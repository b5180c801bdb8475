//===- Safetensors.h - Reading safetensors files ----------------*- C++ -*-===//
//
// The format: eight bytes of header length (little endian), a JSON header of
// this length, then the tensors' bytes. A file is used only after all rules of
// the format have been checked; README.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_SAFETENSORS_H
#define MTP_COMPILER_WEIGHTS_SAFETENSORS_H

#include "compiler/Weights/InputFile.h"
#include "compiler/Weights/WeightType.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// The place of one tensor in its file.
struct TensorEntry {
  WeightType type;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< From the start of the file.
  uint64_t size = 0;   ///< In bytes.
};

using TensorMap = std::map<std::string, TensorEntry, std::less<>>;

/// Checks the bytes of a whole file and returns its tensors. Never reads beyond
/// `bytes`, whatever they contain.
Result<TensorMap> parseSafetensors(std::span<const uint8_t> bytes);

/// One checked file.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const TensorMap &tensors() const { return entries; }
  const InputFile &file() const { return mapped; }

  /// Returns the bytes of an entry of tensors().
  std::span<const uint8_t> bytes(const TensorEntry &entry) const {
    return mapped.bytes().subspan(entry.offset, entry.size);
  }

private:
  InputFile mapped;
  TensorMap entries;
};

/// Returns a shape as text: "[2, 3]".
std::string formatShape(std::span<const int64_t> shape);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_SAFETENSORS_H
