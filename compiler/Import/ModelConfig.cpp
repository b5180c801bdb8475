//===- ModelConfig.cpp - Keys that follow from a config -------------------===//

#include "compiler/Import/ModelConfig.h"

namespace mtp::importer {

std::string ModelConfig::named(std::string_view key) const {
  for (const KeyName &name : names) {
    std::string_view suffix = key;
    if (!key.starts_with(name.usual))
      continue;
    suffix.remove_prefix(name.usual.size());
    if (suffix == ".weight" || suffix == ".bias")
      return std::string(name.own) + std::string(suffix);
  }
  return std::string(key);
}

std::string layerPrefix(const ModelConfig &config, int64_t layer) {
  return config.keys().trunk + "layers." + std::to_string(layer) + ".";
}

std::string modulePrefix(const ModelConfig &config, int64_t module) {
  if (config.drafter.style == DrafterStyle::MiMo)
    return config.keys().trunk + "mtp_layers." + std::to_string(module) + ".";
  return layerPrefix(config, int64_t(config.layers.size()) + module);
}

std::string moduleMark(const ModelConfig &config, int64_t module) {
  bool isMiMo = config.drafter.style == DrafterStyle::MiMo;
  return modulePrefix(config, module) +
         (isMiMo ? "input_proj.weight" : "eh_proj.weight");
}

} // namespace mtp::importer
