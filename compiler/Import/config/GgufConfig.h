//===- GgufConfig.h - The config of a GGUF file -----------------*- C++ -*-===//
//
// Private to the importer. Translates a GGUF file's metadata to the config.json
// that the families' readers take, so that no fact about a family is stated
// twice.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H
#define MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H

#include "compiler/Weights/Gguf.h"
#include "runtime/core/Result.h"

#include <span>
#include <string>

namespace mtp::importer {

/// One file of a GGUF model.
struct GgufPart {
  GgufHeader header;
  std::span<const uint8_t> bytes;
};

/// Returns the text of a config.json for a model. `parts` are all files of the
/// model; the first one has the metadata. Sampling parameters and stop tokens
/// are in the config too. A file's error names its key.
Result<std::string> translateGgufConfig(std::span<const GgufPart> parts);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H
