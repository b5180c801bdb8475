//===- GgufModel.h - The files of a GGUF model ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_GGUFMODEL_H
#define MTP_COMPILER_IMPORT_CONFIG_GGUFMODEL_H

#include "compiler/Weights/Gguf.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/Result.h"

#include <span>
#include <string>
#include <vector>

namespace mtp::importer {

/// One file of a GGUF model.
struct GgufPart {
  GgufHeader header;
  std::span<const uint8_t> bytes;
};

/// The open files of a GGUF model.
struct GgufModel {
  std::vector<std::string> paths;
  std::vector<InputFile> files;
  std::vector<GgufPart> parts;

  /// Opens the files at a path (GgufFiles.h).
  static Result<GgufModel> open(const std::string &path);
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_GGUFMODEL_H
