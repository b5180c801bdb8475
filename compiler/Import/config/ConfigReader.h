//===- ConfigReader.h - Reading config.json ---------------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_CONFIGREADER_H
#define MTP_COMPILER_IMPORT_CONFIG_CONFIGREADER_H

#include "compiler/Import/config/ModelConfig.h"
#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp::importer {

/// Reads `config.json` of a checkpoint's folder, or Meta's `params.json` in its
/// place. Also reads `generation_config.json` and `hf_quant_config.json` if
/// they exist. `folder` may also be a model in GGUF. An error names the key and
/// the value that the importer does not support.
Result<ModelConfig> readModelConfig(const std::string &folder);

struct GgufModel;
/// Reads the config of open files in GGUF, of whatever they contain.
Result<ModelConfig> readGgufConfig(const GgufModel &model);

/// Parses the files' texts. All but `config` may be empty. `file` is the name
/// of the first file in messages.
Result<ModelConfig> parseModelConfig(std::string_view config,
                                     std::string_view generation,
                                     std::string_view modelOpt = {},
                                     std::string file = "config.json");

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_CONFIGREADER_H
