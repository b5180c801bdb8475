//===- RopeReader.cpp - Reading rotary parameters -------------------------===//

#include "compiler/Import/config/ConfigFamilies.h"

#include <algorithm>
#include <cmath>

namespace mtp::importer {

namespace {

constexpr int64_t kMostPositions = int64_t(1) << 31;

/// Returns YaRN's magnitude correction, as in its paper.
double magnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

/// Reads the original context. A top-level value has precedence over the one in
/// the scaling, as in transformers.
int64_t readOriginalMax(ConfigFields &fields, ConfigFields &scaling,
                        const ModelConfig &config) {
  const char *key = "original_max_position_embeddings";
  if (fields.has(key))
    return fields.integer(key, 1, kMostPositions);
  return scaling.integerOr(key, 1, kMostPositions, config.maxPositions);
}

/// Returns the number of positions that a scaling by a factor reaches.
int64_t scaledPositions(int64_t original, double factor) {
  return int64_t(std::min(double(original) * factor, double(kMostPositions)));
}

void readLlama3(ConfigFields &fields, ConfigFields &scaling,
                const ModelConfig &config, RopeConfig &rope) {
  rope.scaling = RopeScalingKind::Llama3;
  rope.factor = scaling.positive("factor");
  rope.lowFreqFactor = scaling.positive("low_freq_factor");
  rope.highFreqFactor = scaling.positive("high_freq_factor");
  rope.originalMaxPosition = readOriginalMax(fields, scaling, config);
  if (rope.lowFreqFactor >= rope.highFreqFactor)
    scaling.fail("low_freq_factor", "less than \"high_freq_factor\"");
}

/// Reads a number; 0 means the default, like Python's `or`.
double positiveOrDefault(ConfigFields &scaling, const char *key,
                         double absent) {
  return scaling.numberOr(key, absent) == 0.0 ? absent
                                              : scaling.positiveOr(key, absent);
}

void readYarn(ConfigFields &fields, ConfigFields &scaling,
              const ModelConfig &config, RopeConfig &rope) {
  rope.scaling = RopeScalingKind::Yarn;
  rope.originalMaxPosition = readOriginalMax(fields, scaling, config);
  rope.factor = scaling.isNull("factor")
                    ? double(config.maxPositions) /
                          double(std::max<int64_t>(rope.originalMaxPosition, 1))
                    : scaling.positive("factor");
  rope.betaFast = positiveOrDefault(scaling, "beta_fast", 32.0);
  rope.betaSlow = positiveOrDefault(scaling, "beta_slow", 1.0);
  rope.truncate = scaling.flagOr("truncate", true);
  // Some published models have equal values.
  if (rope.betaSlow > rope.betaFast)
    scaling.fail("beta_slow", "\"beta_fast\" at most");
  double mscale = scaling.numberOr("mscale", 0.0);
  double mscaleAll = scaling.numberOr("mscale_all_dim", 0.0);
  double implied =
      mscale != 0.0 && mscaleAll != 0.0
          ? magnitude(rope.factor, mscale) / magnitude(rope.factor, mscaleAll)
          : magnitude(rope.factor, 1.0);
  rope.attentionFactor = scaling.positiveOr("attention_factor", implied);
  rope.scaledPositions = scaledPositions(rope.originalMaxPosition, rope.factor);
}

/// Reads the scaling of frequencies. Leaves `rope.factor` at 1 if there is
/// none.
void readScaling(ConfigFields &fields, ConfigFields &scaling, const char *key,
                 const ModelConfig &config, RopeConfig &rope) {
  std::string type = scaling.textOr(key, "default");
  if (type == "linear") {
    rope.scaling = RopeScalingKind::Linear;
    rope.factor = scaling.positive("factor");
    rope.scaledPositions =
        scaledPositions(readOriginalMax(fields, scaling, config), rope.factor);
  } else if (type == "dynamic") {
    // Frequencies change only beyond max_position_embeddings, and no longer
    // context is compiled.
    rope.factor = scaling.positive("factor");
  } else if (type == "llama3") {
    readLlama3(fields, scaling, config, rope);
  } else if (type == "yarn") {
    readYarn(fields, scaling, config, rope);
  } else if (type == "longrope") {
    scaling.failAs(
        key, unimplemented("\"longrope\" is not supported: its frequencies "
                           "change for all positions with the length of the "
                           "text, and a table of rotations is compiled once"));
  } else if (type != "default") {
    scaling.fail(key, "\"default\", \"dynamic\", \"linear\", \"llama3\" or "
                      "\"yarn\"");
  }
}

/// Reads the object at "rope_scaling" or "rope_parameters".
void readParameters(ConfigFields &fields, ConfigFields &scaling,
                    const ModelConfig &config, const RopeRules &rules,
                    double &partial, RopeConfig &rope) {
  for (const char *type : {"full_attention", "sliding_attention"})
    if (scaling.has(type))
      scaling.fail(type, "one set of parameters for all layers");
  rope.theta = scaling.positiveOr("rope_theta", rope.theta);
  partial = scaling.positiveOr("partial_rotary_factor", partial);
  const char *key = scaling.has("rope_type") ? "rope_type" : "type";
  readScaling(fields, scaling, key, config, rope);
  bool isScaled = scaling.textOr(key, "default") != "default";
  // transformers' shared scaling code rotates part of the head, which the code
  // of such a family does not expect.
  if (isScaled && !rules.partial && partial != 1.0)
    scaling.fail(key, "\"default\" with \"partial_rotary_factor\" in this "
                      "family");
  double mscaleAll = scaling.numberOr("mscale_all_dim", 0.0);
  if (rules.scalesAttention && isScaled && mscaleAll != 0.0) {
    double scale = magnitude(rope.factor, mscaleAll);
    rope.scaleFactor = scale * scale;
  }
  // Without a scaling a factor has no meaning.
  if (rope.scaling == RopeScalingKind::None)
    rope.factor = 1.0;
}

} // namespace

RopeConfig readTypedRope(ConfigFields &fields, const ModelConfig &config,
                         int64_t headDim, const char *type, const char *key,
                         double theta) {
  RopeConfig rope;
  rope.dim = headDim;
  rope.theta = fields.positiveOr(key, theta);
  if (headDim % 2 != 0)
    fields.fail("head_dim", "an even number");
  auto read = [&](std::optional<ConfigFields> scaling) {
    if (!scaling)
      return;
    double partial = 1.0;
    readParameters(fields, *scaling, config, {}, partial, rope);
    fields.adopt(*scaling);
  };
  if (std::optional<ConfigFields> all = fields.child("rope_parameters")) {
    if (!all->isEmpty() && !all->has("full_attention") &&
        !all->has("sliding_attention"))
      fields.fail("rope_parameters", "parameters for each type of layer");
    read(all->child(type));
    fields.adopt(*all);
  }
  if (std::string_view(type) == "full_attention")
    read(fields.child("rope_scaling"));
  return rope;
}

RopeConfig readRope(ConfigFields &fields, const ModelConfig &config,
                    int64_t headDim, const RopeRules &rules) {
  RopeConfig rope;
  rope.theta = fields.positiveOr("rope_theta", rules.theta);
  double partial =
      fields.positiveOr("partial_rotary_factor", rules.partial.value_or(1.0));
  // The old spelling has precedence; an empty object counts as absent.
  std::optional<ConfigFields> scaling = fields.child("rope_scaling");
  if (!scaling || scaling->isEmpty())
    scaling = fields.child("rope_parameters");
  if (scaling) {
    readParameters(fields, *scaling, config, rules, partial, rope);
    fields.adopt(*scaling);
  }
  if (!rules.partial)
    partial = 1.0;
  if (partial > 1.0) {
    fields.fail("partial_rotary_factor", "at most 1");
    return rope;
  }
  rope.dim = int64_t(double(headDim) * partial);
  if (rope.dim < 2 || rope.dim % 2 != 0)
    fields.failAs(partial < 1.0 ? "partial_rotary_factor" : "head_dim",
                  invalidArgument("expected an even number of rotating "
                                  "dimensions, got " +
                                  std::to_string(rope.dim) + " of " +
                                  std::to_string(headDim)));
  return rope;
}

} // namespace mtp::importer
