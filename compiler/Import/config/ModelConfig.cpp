//===- ModelConfig.cpp - Keys computed from a config ----------------------===//

#include "compiler/Import/config/ModelConfig.h"

#include <algorithm>

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
  const DrafterConfig &drafter = config.drafter;
  if (drafter.style == DrafterStyle::MiMo)
    return config.keys().trunk + "mtp_layers." + std::to_string(module) + ".";
  // A checkpoint's second module would share everything except the layer.
  if (drafter.style == DrafterStyle::Qwen)
    return drafter.front + drafter.root +
           (module == 0 ? "" : "layers." + std::to_string(module) + ".");
  int64_t layer = int64_t(config.layers.size()) + module;
  if (drafter.front.empty())
    return layerPrefix(config, layer);
  // A file of modules has the usual prefixes, whatever the model's are.
  return drafter.front + KeyLayout().trunk + "layers." + std::to_string(layer) +
         ".";
}

std::string moduleLayerPrefix(const ModelConfig &config, int64_t module) {
  bool isQwen = config.drafter.style == DrafterStyle::Qwen;
  return modulePrefix(config, module) + (isQwen ? "layers.0." : "");
}

int64_t placeAmongAlike(const ModelConfig &config, size_t layer) {
  bool isRecurrent = config.layers[layer].isRecurrent;
  return std::count_if(
      config.layers.begin(), config.layers.begin() + std::ptrdiff_t(layer),
      [&](LayerKind kind) { return kind.isRecurrent == isRecurrent; });
}

std::string moduleMark(const ModelConfig &config, int64_t module) {
  if (config.drafter.style == DrafterStyle::Qwen)
    return modulePrefix(config, module) +
           (module == 0 ? "fc.weight" : "input_layernorm.weight");
  bool isMiMo = config.drafter.style == DrafterStyle::MiMo;
  return modulePrefix(config, module) +
         (isMiMo ? "input_proj.weight" : "eh_proj.weight");
}

} // namespace mtp::importer
