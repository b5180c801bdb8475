//===- GgufConfig.h - The config of a GGUF file -----------------*- C++ -*-===//
//
// Private to the importer. Translates a GGUF file's metadata to the config.json
// that the families' readers take, so that no fact about a family is stated
// twice.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H
#define MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H

#include "compiler/Import/config/GgufModel.h"

#include <string_view>

namespace mtp::importer {

/// Returns the text of a config.json for a model or a drafter. `parts` are all
/// files of the model; the first one has the metadata. Sampling parameters and
/// stop tokens are in the config too. A file's error names its key.
Result<std::string> translateGgufConfig(std::span<const GgufPart> parts);

/// The content of the files of a model.
struct GgufContent {
  std::string_view architecture;
  bool isDrafter = false; ///< A drafter of another model, such as EAGLE-3.
  bool hasLayers = false; ///< Layers of the model itself.
  int64_t modules = 0;    ///< MTP modules by the metadata.
  int64_t stored = 0;     ///< MTP modules whose weights are in the file.
};

/// Returns what the files of a model contain. Their metadata must be valid.
Result<GgufContent> describeGguf(std::span<const GgufPart> parts);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_GGUFCONFIG_H
