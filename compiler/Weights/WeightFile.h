//===- WeightFile.h - One file of a checkpoint ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTFILE_H
#define MTP_COMPILER_WEIGHTS_WEIGHTFILE_H

#include "compiler/Weights/GgufNames.h"
#include "compiler/Weights/InputFile.h"
#include "compiler/Weights/WeightType.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// One checked file, in safetensors or GGUF. Tensors of GGUF have the keys of a
/// Hugging Face folder.
class WeightFile {
public:
  /// Opens a file that no other file precedes.
  static Result<WeightFile> open(const std::string &path);
  /// Opens a file in either format. `names` holds the names of the GGUF file
  /// that was opened before, whose set a further shard continues.
  static Result<WeightFile> open(const std::string &path,
                                 std::optional<GgufNames> &names);

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

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTFILE_H
