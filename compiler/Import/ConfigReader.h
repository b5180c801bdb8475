//===- ConfigReader.h - Reading config.json ---------------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIGREADER_H
#define MTP_COMPILER_IMPORT_CONFIGREADER_H

#include "compiler/Import/ModelConfig.h"
#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp::importer {

/// Reads `config.json` of a checkpoint's folder, or in its place Meta's
/// `params.json`, and, where they are there, `generation_config.json` and
/// `hf_quant_config.json`. What the importer cannot express is refused with the
/// key and the value that asks for it.
Result<ModelConfig> readModelConfig(const std::string &folder);

/// The same from text; all but `config` may be empty. `file` is what messages
/// call the first.
Result<ModelConfig> parseModelConfig(std::string_view config,
                                     std::string_view generation,
                                     std::string_view modelOpt = {},
                                     std::string file = "config.json");

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIGREADER_H
