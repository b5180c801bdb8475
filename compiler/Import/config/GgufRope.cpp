//===- GgufRope.cpp - Rotary parameters of a GGUF model -------------------===//

#include "compiler/Import/config/GgufTranslation.h"
#include "compiler/Weights/GgufBlocks.h"

#include <charconv>
#include <cmath>
#include <numbers>

namespace mtp::importer {

namespace {

/// Returns the double with the shortest decimal form of an f32.
double shortest(float value) {
  char text[32];
  char *end = std::to_chars(text, text + sizeof(text), value).ptr;
  double wide = value;
  std::from_chars(text, end, wide);
  return wide;
}

/// Returns a fraction of which readRope() makes `part` of `whole`.
double fractionOf(int64_t part, int64_t whole) {
  double fraction = double(part) / double(whole);
  return int64_t(double(whole) * fraction) == part
             ? fraction
             : std::nextafter(fraction, 1.0);
}

void translateYarn(GgufTranslation &from, JsonWriter &rope, double factor) {
  const std::string scaling = from.prefix + "rope.scaling.";
  const std::string log = scaling + "yarn_log_multiplier";
  if (from.is({"deepseek_v3", "ministral3", "youtu"})) {
    double scale = from.number(log).value_or(0);
    // The converter stores a tenth for DeepSeek.
    if (from.type != "ministral3")
      scale = shortest(float(10 * scale));
    // The file has one number for both keys.
    if (scale != 0) {
      rope.add("mscale", scale);
      rope.add("mscale_all_dim", scale);
    }
  } else {
    from.expect(log, 0);
  }
  if (from.type == "ministral3")
    if (auto beta = from.number(from.prefix + "attention.temperature_scale"))
      rope.add("llama_4_scaling_beta", *beta);
  from.expect(scaling + "yarn_ext_factor", 1);
  from.expect(scaling + "yarn_attn_factor", 1);
  for (const char *key : {"beta_fast", "beta_slow"})
    if (auto value = from.number(scaling + "yarn_" + key))
      rope.add(key, *value);
  if (auto weight = from.number(scaling + "attn_factor"))
    rope.add("attention_factor",
             *weight * (1 + 0.1 * std::log(std::max(1.0, factor))));
}

void translateScaling(GgufTranslation &from) {
  const std::string scaling = from.prefix + "rope.scaling.";
  std::string_view kind = from.header.text(scaling + "type");
  std::optional<double> factor = from.number(scaling + "factor");
  if (!factor)
    factor = from.number(from.prefix + "rope.scale_linear");
  if (kind == "none" || (!factor && (kind.empty() || kind == "linear")))
    return;
  JsonWriter rope;
  rope.addText("rope_type", kind.empty() ? "linear" : kind);
  rope.add("factor", factor.value_or(1.0));
  std::optional<int64_t> original =
      from.integer(scaling + "original_context_length");
  if (original)
    rope.add("original_max_position_embeddings", *original);
  if (kind == "yarn")
    translateYarn(from, rope, factor.value_or(1.0));
  from.config.add("rope_scaling", std::string_view(rope.finish()));
}

/// The factors that all of Llama 3's models have.
constexpr double kLow = 1.0, kHigh = 4.0;

/// Returns Llama 3's divisor of a frequency.
double llama3Divisor(double frequency, double factor, double original) {
  double length = 2 * std::numbers::pi / frequency;
  if (length < original / kHigh)
    return 1.0;
  if (length > original / kLow)
    return factor;
  double smooth = (original / length - kLow) / (kHigh - kLow);
  return 1.0 / ((1.0 - smooth) / factor + smooth);
}

/// Returns the original context that gives a frequency a divisor between 1 and
/// `factor`, the inverse of llama3Divisor().
double llama3Original(double frequency, double factor, double divisor) {
  double length = 2 * std::numbers::pi / frequency;
  double smooth = (1 / divisor - 1 / factor) / (1 - 1 / factor);
  return std::round(length * (smooth * (kHigh - kLow) + kLow));
}

/// Recognises Llama 3's scaling in the divisors of the frequencies.
void translateDivisors(GgufTranslation &from, double theta,
                       const GgufTensor &tensor, const GgufPart &part) {
  std::vector<float> stored(size_t(std::max<int64_t>(from.headDim / 2, 0)));
  if (stored.empty() || tensor.type != WeightType::F32 ||
      tensor.size != stored.size() * sizeof(float)) {
    from.failure = invalidArgument(
        "tensor \"rope_freqs.weight\": expected a number for each of " +
        std::to_string(stored.size()) + " frequencies");
    return;
  }
  decodeRun(tensor.type, part.bytes.data() + tensor.offset, 0,
            int64_t(stored.size()), stored.data());
  auto frequency = [&](size_t i) {
    return std::pow(theta, -2.0 * double(i) / double(from.headDim));
  };
  double factor = stored.back(), original = 8192;
  for (size_t i = stored.size(); i-- > 0;)
    if (stored[i] > 1 && stored[i] < factor)
      original = llama3Original(frequency(i), factor, stored[i]);
  for (size_t i = 0; i < stored.size(); ++i) {
    double expected = llama3Divisor(frequency(i), factor, original);
    if (!(std::abs(stored[i] - expected) <= 1e-4 * expected)) {
      from.failure = unimplemented(
          "tensor \"rope_freqs.weight\": expected Llama 3's scaling, got " +
          std::to_string(stored[i]) + " in place of " +
          std::to_string(expected) + " at " + std::to_string(i));
      return;
    }
  }
  if (factor == 1.0)
    return;
  JsonWriter rope;
  rope.addText("rope_type", "llama3");
  rope.add("factor", factor);
  rope.add("low_freq_factor", kLow);
  rope.add("high_freq_factor", kHigh);
  rope.add("original_max_position_embeddings", int64_t(original));
  from.config.add("rope_scaling", std::string_view(rope.finish()));
}

} // namespace

void translateRope(GgufTranslation &from) {
  double theta = from.number(from.prefix + "rope.freq_base").value_or(10000.0);
  from.config.add("rope_theta", theta);
  int64_t rotating =
      from.integer(from.prefix + "rope.dimension_count").value_or(from.headDim);
  if ((from.type == "glm4_moe" || from.isHybrid()) && from.headDim > 0)
    from.config.add("partial_rotary_factor",
                    fractionOf(rotating, from.headDim));
  else if (from.type == "minimax_m2")
    from.config.add("rotary_dim", rotating);
  else if (rotating != from.headDim)
    from.fail(from.prefix + "rope.dimension_count",
              std::to_string(from.headDim) + ", the width of a head");
  const GgufPart *part = nullptr;
  const GgufTensor *divisors = from.findTensor("rope_freqs.weight", &part);
  if (divisors && from.failure.isOk())
    translateDivisors(from, theta, *divisors, *part);
  else
    translateScaling(from);
}

} // namespace mtp::importer
