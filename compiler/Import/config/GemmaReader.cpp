//===- GemmaReader.cpp - gemma3_text --------------------------------------===//
//
// Most layers see a window of the text and rotate with a theta of their own.
// Norms stand on both sides of each part of a layer.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"

#include <cmath>

namespace mtp::importer {

namespace {

constexpr int64_t kMost = int64_t(1) << 31;
constexpr double kLocalTheta = 10000.0;

/// Returns `value` rounded to a float with `digits` binary digits.
double roundTo(int digits, double value) {
  int exponent;
  double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)),
                    exponent - digits);
}

/// Returns the factor of embeddings. transformers computes the root in f32 and
/// casts it to the type of the weights; llama.cpp keeps f32, and its files'
/// config gives the factor.
double readEmbeddingScale(ConfigFields &fields, const ModelConfig &config) {
  double root = roundTo(24, std::sqrt(double(config.hidden)));
  if (config.storedType == WeightType::BF16)
    root = roundTo(8, root);
  else if (config.storedType == WeightType::F16)
    root = roundTo(11, root);
  return fields.positiveOr("embedding_scale", root);
}

/// Reads which layers have a window: from `layer_types`, or all but each layer
/// whose number is a multiple of `sliding_window_pattern`.
std::vector<bool> readWindowed(ConfigFields &fields,
                               const ModelConfig &config) {
  std::vector<std::string> types = fields.texts("layer_types");
  const char *key = fields.has("_sliding_window_pattern")
                        ? "_sliding_window_pattern"
                        : "sliding_window_pattern";
  int64_t period = fields.integerOr(key, 1, kMost, 6);
  std::vector<bool> isWindowed;
  for (size_t i = 0; i < config.layers.size(); ++i)
    isWindowed.push_back(int64_t(i + 1) % period != 0);
  if (types.empty())
    return isWindowed;
  if (types.size() != config.layers.size()) {
    fields.fail("layer_types", "one type for each of \"num_hidden_layers\"");
    return isWindowed;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    isWindowed[i] = types[i] == "sliding_attention";
    if (!isWindowed[i] && types[i] != "full_attention")
      fields.fail("layer_types", "\"full_attention\" or \"sliding_attention\"");
  }
  return isWindowed;
}

GqaConfig readHeads(ConfigFields &fields, const ModelConfig &config,
                    const FamilyDefaults &defaults) {
  GqaConfig gqa;
  gqa.kvHeads = readKvHeads(fields, config, defaults.kvHeads);
  gqa.headDim = fields.dimensionOr("head_dim", 256);
  gqa.hasQkvBias = gqa.hasOutputBias = fields.flagOr("attention_bias", false);
  gqa.hasQkNorm = true;
  gqa.scaleWidth = fields.positiveOr("query_pre_attn_scalar", 256.0);
  return gqa;
}

/// Sets the norms before and after the parts of a layer.
void setNorms(LayerConfig &layer) {
  layer.mixer.norms.after = "post_attention_layernorm";
  layer.feed.norms.before = "pre_feedforward_layernorm";
  layer.feed.norms.after = "post_feedforward_layernorm";
}

} // namespace

void readGemma3(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults) {
  fields.expectText("hidden_activation", "gelu_pytorch_tanh");
  fields.expectFlag("use_bidirectional_attention", false);
  config.embeddingScale = readEmbeddingScale(fields, config);
  GqaConfig gqa = readHeads(fields, config, defaults);
  RopeConfig whole = readTypedRope(fields, config, gqa.headDim,
                                   "full_attention", "rope_theta", 1000000.0);
  RopeConfig local =
      readTypedRope(fields, config, gqa.headDim, "sliding_attention",
                    "rope_local_base_freq", kLocalTheta);
  // The config's limit contains the factor of the scaling.
  whole.scaledPositions = local.scaledPositions = 0;
  setAttention(config, gqa, whole);
  setNormOffset(config, readNormOffset(fields));
  int64_t window = fields.integerOr("sliding_window", 1, kMost, 4096);
  std::vector<bool> isWindowed = readWindowed(fields, config);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    LayerConfig &layer = config.layers[i];
    setNorms(layer);
    layer.feed.activation = Activation::GeluTanh;
    if (!isWindowed[i])
      continue;
    layer.mixer.attention->window = window;
    layer.mixer.attention->rope = local;
  }
}

} // namespace mtp::importer
