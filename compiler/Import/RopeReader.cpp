//===- RopeReader.cpp - Reading rotary parameters -------------------------===//

#include "compiler/Import/ConfigFamilies.h"

#include <cmath>

namespace mtp::importer {

namespace {

/// YaRN's magnitude correction, as its paper has it.
double magnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

int64_t readOriginalMax(ConfigFields &fields, ConfigFields &scaling) {
  constexpr int64_t kMost = int64_t(1) << 31;
  const char *key = "original_max_position_embeddings";
  int64_t maximum = fields.integerOr("max_position_embeddings", 1, kMost, 1);
  return scaling.integerOr(key, 1, kMost,
                           fields.integerOr(key, 1, kMost, maximum));
}

void readLlama3(ConfigFields &fields, ConfigFields &scaling, RopeConfig &rope) {
  rope.scaling = RopeScalingKind::Llama3;
  rope.factor = scaling.positive("factor");
  rope.lowFreqFactor = scaling.positive("low_freq_factor");
  rope.highFreqFactor = scaling.positive("high_freq_factor");
  rope.originalMaxPosition = readOriginalMax(fields, scaling);
  if (rope.lowFreqFactor >= rope.highFreqFactor)
    scaling.fail("low_freq_factor", "less than \"high_freq_factor\"");
}

void readYarn(ConfigFields &fields, ConfigFields &scaling, RopeConfig &rope) {
  rope.scaling = RopeScalingKind::Yarn;
  rope.factor = scaling.positive("factor");
  rope.betaFast = scaling.positiveOr("beta_fast", 32.0);
  rope.betaSlow = scaling.positiveOr("beta_slow", 1.0);
  rope.truncate = scaling.flagOr("truncate", true);
  rope.originalMaxPosition = readOriginalMax(fields, scaling);
  if (rope.betaSlow >= rope.betaFast)
    scaling.fail("beta_slow", "less than \"beta_fast\"");
  double mscale = scaling.numberOr("mscale", 0.0);
  double mscaleAll = scaling.numberOr("mscale_all_dim", 0.0);
  double implied =
      mscale != 0.0 && mscaleAll != 0.0
          ? magnitude(rope.factor, mscale) / magnitude(rope.factor, mscaleAll)
          : magnitude(rope.factor, 1.0);
  rope.attentionFactor = scaling.positiveOr("attention_factor", implied);
  if (mscaleAll != 0.0) {
    double scale = magnitude(rope.factor, mscaleAll);
    rope.scaleFactor = scale * scale;
  }
}

void readScaling(ConfigFields &fields, ConfigFields &scaling,
                 RopeConfig &rope) {
  const char *key = scaling.has("rope_type") ? "rope_type" : "type";
  std::string type = scaling.textOr(key, "default");
  if (type == "default" || !scaling.status().isOk())
    return;
  if (type == "linear") {
    rope.scaling = RopeScalingKind::Linear;
    rope.factor = scaling.positive("factor");
  } else if (type == "llama3") {
    readLlama3(fields, scaling, rope);
  } else if (type == "yarn") {
    readYarn(fields, scaling, rope);
  } else {
    scaling.fail(key, "\"default\", \"linear\", \"llama3\" or \"yarn\"");
  }
}

} // namespace

RopeConfig readRope(ConfigFields &fields, int64_t headDim,
                    double partialDefault) {
  RopeConfig rope;
  rope.theta = fields.positiveOr("rope_theta", 10000.0);
  double partial = fields.positiveOr("partial_rotary_factor", partialDefault);
  const char *key =
      fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  std::optional<ConfigFields> scaling = fields.child(key);
  if (scaling) {
    rope.theta = scaling->positiveOr("rope_theta", rope.theta);
    partial = scaling->positiveOr("partial_rotary_factor", partial);
    readScaling(fields, *scaling, rope);
    fields.adopt(*scaling);
  }
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
