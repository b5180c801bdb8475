//===- WeightFile.cpp - One file of a checkpoint --------------------------===//

#include "compiler/Weights/WeightFile.h"

#include "compiler/Weights/Safetensors.h"

namespace mtp {

namespace {

Result<TensorMap> readGguf(std::span<const uint8_t> bytes,
                           std::optional<GgufNames> &names) {
  MTP_ASSIGN_OR_RETURN(GgufHeader header, parseGguf(bytes));
  MTP_ASSIGN_OR_RETURN(names, GgufNames::read(header, names));
  return names->translate(header, bytes);
}

} // namespace

Result<WeightFile> WeightFile::open(const std::string &path,
                                    std::optional<GgufNames> &names) {
  WeightFile file;
  MTP_ASSIGN_OR_RETURN(file.mapped, InputFile::open(path));
  std::span<const uint8_t> bytes = file.mapped.bytes();
  Result<TensorMap> tensors =
      isGguf(bytes) ? readGguf(bytes, names) : parseSafetensors(bytes);
  if (!tensors)
    return tensors.status().withContext("\"" + path + "\"");
  file.entries = std::move(*tensors);
  return file;
}

Result<WeightFile> WeightFile::open(const std::string &path) {
  std::optional<GgufNames> names;
  return open(path, names);
}

} // namespace mtp
