//===- LayerNames.cpp - Names of the functions of layers ------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include <algorithm>
#include <functional>

namespace mtp::importer {

namespace {

std::string usualName(const MixerConfig &mixer) {
  if (mixer.recurrence)
    return "recurrence";
  return mixer.attention->window > 0 ? "attention_window" : "attention";
}

std::string usualName(const FeedForwardConfig &feed) {
  if (!feed.moe)
    return "mlp";
  return feed.moe->isStacked ? "experts_stacked" : "experts";
}

std::string usualName(const LayerConfig &layer) {
  std::string name = layer.isMoe() ? "moe_layer" : "dense_layer";
  if (layer.isRecurrent())
    name += "_recurrent";
  if (layer.isStacked())
    name += "_stacked";
  return layer.window() > 0 ? name + "_window" : name;
}

/// Returns the usual name of `wanted`. A number follows it if earlier layers
/// have other descriptions with this name.
template <typename Part, typename Take>
std::string numberedName(const ModelConfig &config, const Part &wanted,
                         Take take) {
  std::string name = usualName(wanted);
  std::vector<Part> earlier;
  for (const LayerConfig &layer : config.layers) {
    const Part &part = take(layer);
    if (part == wanted)
      break;
    if (usualName(part) == name &&
        std::ranges::find(earlier, part) == earlier.end())
      earlier.push_back(part);
  }
  return earlier.empty() ? name
                         : name + "_" + std::to_string(earlier.size() + 1);
}

} // namespace

std::string layerFunction(const ModelConfig &config, const LayerConfig &layer) {
  return numberedName(config, layer, std::identity());
}

std::string mixerFunction(const ModelConfig &config, const MixerConfig &mixer) {
  return numberedName(
      config, mixer,
      [](const LayerConfig &of) -> const MixerConfig & { return of.mixer; });
}

std::string feedFunction(const ModelConfig &config,
                         const FeedForwardConfig &feed) {
  return numberedName(config, feed,
                      [](const LayerConfig &of) -> const FeedForwardConfig & {
                        return of.feed;
                      });
}

std::vector<LayerConfig> distinctLayers(llvm::ArrayRef<LayerConfig> layers) {
  std::vector<LayerConfig> distinct;
  for (const LayerConfig &layer : layers)
    if (std::ranges::find(distinct, layer) == distinct.end())
      distinct.push_back(layer);
  return distinct;
}

} // namespace mtp::importer
