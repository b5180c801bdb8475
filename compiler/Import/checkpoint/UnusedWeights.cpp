//===- UnusedWeights.cpp - Weights that the model does not use ------------===//

#include "compiler/Import/checkpoint/UnusedWeights.h"

#include "compiler/Import/checkpoint/Checkpoint.h"

#include <algorithm>
#include <optional>

namespace mtp::importer {

namespace {

/// Returns true if a key is within a numbered layer: "layers.3.",
/// "mtp_layers.0.", with any prefix.
bool isInLayer(std::string_view key) {
  constexpr std::string_view kLayers = "layers.";
  for (size_t at = key.find(kLayers); at != key.npos;
       at = key.find(kLayers, at + 1)) {
    size_t digit = at + kLayers.size(), end = digit;
    while (end < key.size() && key[end] >= '0' && key[end] <= '9')
      ++end;
    if (end > digit && end < key.size() && key[end] == '.')
      return true;
  }
  return false;
}

/// Returns true for keys that have no meaning in any family.
bool isHarmless(std::string_view key, const ModelConfig &config) {
  // Frequencies that older versions of transformers saved. They follow from the
  // config, and transformers ignores them too.
  if (key.ends_with("rotary_emb.inv_freq") || key == "rope.freqs")
    return true;
  // Copies of the model's matrices in the file of its modules.
  const std::string &front = config.drafter.front;
  if (!front.empty() && key.starts_with(front) &&
      key.find("layers.") == key.npos && !key.starts_with(front + "mtp."))
    return true;
  // A copy of the embedding. If it differed, the head would not be tied.
  return config.isTied &&
         (key == config.keys().head || key == config.keys().embedding());
}

/// Returns the MTP module that a key belongs to. A checkpoint may have more
/// modules than its config says, so the key that marks a module must exist.
std::optional<int64_t> moduleOf(std::string_view key,
                                const WeightTable &weights,
                                const ModelConfig &config) {
  if (config.drafter.style == DrafterStyle::None)
    return std::nullopt;
  for (int64_t d = 0; weights.contains(moduleMark(config, d)); ++d)
    if (key.starts_with(modulePrefix(config, d)))
      return d;
  return std::nullopt;
}

/// Returns true if a key belongs to another part of a model that contains the
/// text model, e.g. its image encoder.
bool isOtherPart(std::string_view key, const ModelConfig &config) {
  const std::string &trunk = config.keys().trunk;
  return trunk != KeyLayout().trunk && !key.starts_with(trunk) &&
         (config.drafter.style == DrafterStyle::None ||
          !key.starts_with(modulePrefix(config, 0)));
}

} // namespace

UnusedWeights findUnusedWeights(const WeightTable &weights,
                                const ModelConfig &config,
                                const ModuleChoice &choice) {
  UnusedWeights unused;
  // The model's own modules, which the modules of --drafter replace.
  ModelConfig own = config;
  own.drafter.front.clear();
  bool isReplaced = !config.drafter.front.empty();
  for (std::string &key : weights.unused()) {
    if (isHarmless(key, config) || (isReplaced && moduleOf(key, weights, own)))
      continue;
    std::optional<int64_t> module = moduleOf(key, weights, config);
    // The flags -k and --draft-depth-policy leave out modules.
    bool isLeftOut = module && *module >= choice.modules &&
                     (choice.isAsked || *module < config.drafter.modules);
    // A drafting module's tables are used if they differ from the model's.
    if (isLeftOut || (module && isTable(key)))
      continue;
    bool isInModel = isInLayer(key) && !isOtherPart(key, config);
    (isInModel ? unused.inLayers : unused.elsewhere).push_back(std::move(key));
  }
  return unused;
}

std::string listKeys(const std::vector<std::string> &keys) {
  constexpr size_t kShown = 3;
  std::string text = std::to_string(keys.size()) + ":";
  for (size_t i = 0; i < std::min(kShown, keys.size()); ++i)
    text += (i > 0 ? ", \"" : " \"") + keys[i] + "\"";
  if (keys.size() > kShown)
    text += " and " + std::to_string(keys.size() - kShown) + " more";
  return text;
}

} // namespace mtp::importer
