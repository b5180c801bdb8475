//===- GgufConfig.cpp - The config of a GGUF file -------------------------===//

#include "compiler/Import/config/GgufConfig.h"

#include "compiler/Weights/GgufBlocks.h"
#include "compiler/Weights/GgufNames.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

namespace mtp::importer {

namespace {

/// Texts of tokens that end an answer in every model that has them. A file
/// names at most three stop tokens by their ids.
constexpr std::string_view kStops[] = {
    "<|eot_id|>",      "<|eom_id|>",
    "<|im_end|>",      "<|end|>",
    "<end_of_turn>",   "<|endoftext|>",
    "<|end_of_text|>", "<EOT>",
    "[EOT]",           "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "<|return|>",      "<|call|>",
};

/// Types of tokens with a meaning of their own.
constexpr int64_t kControl = 3, kUserDefined = 4;

/// The members of a JSON object, in order.
class JsonWriter {
public:
  void add(std::string_view key, std::string_view value) {
    text += (text.empty() ? "\"" : ", \"") + std::string(key) +
            "\": " + std::string(value);
  }
  void add(std::string_view key, int64_t value) {
    add(key, std::string_view(std::to_string(value)));
  }
  void add(std::string_view key, double value) {
    char digits[32];
    char *end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    // to_chars() writes "nan" and "inf", which are no JSON.
    add(key, std::isfinite(value) ? std::string_view(digits, end) : "NaN");
  }
  void addFlag(std::string_view key, bool value) {
    add(key, std::string_view(value ? "true" : "false"));
  }
  void addText(std::string_view key, std::string_view value) {
    add(key, std::string_view("\"" + std::string(value) + "\""));
  }
  std::string finish() const { return "{" + text + "}"; }

private:
  std::string text;
};

/// Translates the keys of one model. The first failure is kept.
class Translator {
public:
  Translator(std::span<const GgufPart> parts, const GgufFamily &family)
      : parts(parts), header(parts.front().header), family(family),
        prefix(std::string(family.architecture) + "."),
        isGlm(family.modelType == "glm4_moe") {}

  Result<std::string> run();

private:
  const GgufTensor *findTensor(std::string_view name,
                               const GgufPart **part = nullptr) const;
  void fail(const std::string &key, const std::string &expected);
  /// Reads a number of the model, or a list of equal numbers. Absent: nothing.
  std::optional<int64_t> integer(const std::string &key);
  std::optional<double> number(const std::string &key);
  int64_t required(const std::string &key);
  /// Fails unless a key is absent or has the value `neutral`.
  void expect(const std::string &key, double neutral);

  void translateSizes();
  void translateAttention();
  void translateExperts();
  /// Translates how glm4moe chooses experts.
  void translateScores();
  void translateRope();
  void translateScaling();
  /// Recognises Llama 3's scaling in the divisors of the frequencies.
  void translateDivisors(const GgufTensor &tensor, const GgufPart &part);
  void translateTokens();
  void translateSampling();

  std::span<const GgufPart> parts;
  const GgufHeader &header;
  const GgufFamily &family;
  std::string prefix;
  /// True for glm4moe, which has MTP modules and sigmoid scores.
  bool isGlm;
  int64_t layers = 0, hidden = 0, heads = 0, headDim = 0;
  double theta = 10000.0;
  JsonWriter config;
  Status failure;
};

const GgufTensor *Translator::findTensor(std::string_view name,
                                         const GgufPart **where) const {
  for (const GgufPart &part : parts)
    for (const GgufTensor &tensor : part.header.tensors)
      if (tensor.name == name) {
        if (where)
          *where = &part;
        return &tensor;
      }
  return nullptr;
}

void Translator::fail(const std::string &key, const std::string &expected) {
  if (!failure.isOk())
    return;
  const GgufValue *value = header.find(key);
  std::string got = value ? value->describe() : "nothing";
  if (std::optional<double> number =
          value && !value->isArray() ? this->number(key) : std::nullopt)
    got = std::to_string(*number);
  failure = invalidArgument("key \"" + key + "\": expected " + expected +
                            ", got " + got);
}

std::optional<int64_t> Translator::integer(const std::string &key) {
  const GgufValue *value = header.find(key);
  if (!value)
    return std::nullopt;
  std::optional<std::vector<int64_t>> numbers;
  if (value->size() <= kMostLayerValues)
    numbers = value->integers();
  if (!numbers || numbers->empty()) {
    fail(key, "an integer");
    return std::nullopt;
  }
  if (!std::ranges::all_of(
          *numbers, [&](int64_t other) { return other == numbers->front(); })) {
    fail(key, "equal numbers for all layers");
    return std::nullopt;
  }
  return numbers->front();
}

std::optional<double> Translator::number(const std::string &key) {
  const GgufValue *value = header.find(key);
  if (!value)
    return std::nullopt;
  std::optional<std::vector<double>> numbers;
  if (!value->isArray())
    numbers = value->numbers();
  if (!numbers) {
    if (failure.isOk())
      failure = invalidArgument("key \"" + key + "\": expected a number, got " +
                                value->describe());
    return std::nullopt;
  }
  return numbers->front();
}

int64_t Translator::required(const std::string &key) {
  std::optional<int64_t> value = integer(key);
  if (!value)
    fail(key, "an integer");
  return value.value_or(1);
}

void Translator::expect(const std::string &key, double neutral) {
  if (std::optional<double> value = number(key))
    if (*value != neutral)
      fail(key, "no value but " + std::to_string(neutral) + " in this family");
}

void Translator::translateSizes() {
  // The number of blocks includes modules.
  int64_t modules = integer(prefix + "nextn_predict_layers").value_or(0);
  layers = required(prefix + "block_count");
  if (modules != 0 && !isGlm)
    fail(prefix + "nextn_predict_layers", "0 in this family");
  else if (modules < 0 || modules >= layers)
    fail(prefix + "nextn_predict_layers", "a number below the one of blocks");
  layers -= modules;
  if (isGlm)
    config.add("num_nextn_predict_layers", modules);
  hidden = required(prefix + "embedding_length");
  config.addText("model_type", family.modelType);
  config.add("num_hidden_layers", layers);
  config.add("hidden_size", hidden);
  config.add("max_position_embeddings", required(prefix + "context_length"));
  if (std::optional<int64_t> width = integer(prefix + "feed_forward_length"))
    config.add("intermediate_size", *width);
  if (std::optional<double> eps =
          number(prefix + "attention.layer_norm_rms_epsilon"))
    config.add("rms_norm_eps", *eps);
  else
    fail(prefix + "attention.layer_norm_rms_epsilon", "a number");
  const GgufTensor *table = findTensor("token_embd.weight");
  const GgufValue *tokens = header.find("tokenizer.ggml.tokens");
  int64_t vocab =
      integer(prefix + "vocab_size").value_or(tokens ? tokens->size() : 1);
  // The table may have more rows than there are tokens.
  config.add("vocab_size", table ? table->shape.front() : vocab);
  config.addFlag("tie_word_embeddings", findTensor("output.weight") == nullptr);
  std::string_view type = "float32";
  if (table && table->type == WeightType::BF16)
    type = "bfloat16";
  config.addText("torch_dtype", type);
}

void Translator::translateAttention() {
  heads = required(prefix + "attention.head_count");
  config.add("num_attention_heads", heads);
  config.add("num_key_value_heads",
             integer(prefix + "attention.head_count_kv").value_or(heads));
  headDim = integer(prefix + "attention.key_length")
                .value_or(heads > 0 ? hidden / heads : 0);
  if (integer(prefix + "attention.value_length").value_or(headDim) != headDim)
    fail(prefix + "attention.value_length", std::to_string(headDim));
  config.add("head_dim", headDim);
  // Qwen 2 has biases by its definition.
  bool hasBias = findTensor("blk.0.attn_q.bias") != nullptr;
  bool hasOutputBias = findTensor("blk.0.attn_output.bias") != nullptr;
  if (family.modelType != "qwen2" && (hasBias || hasOutputBias))
    config.addFlag("attention_bias", true);
  if (isGlm)
    config.addFlag("use_qk_norm",
                   findTensor("blk.0.attn_q_norm.weight") != nullptr);
  // llama.cpp runs these families without windows and ignores the key.
  const std::string window = prefix + "attention.sliding_window";
  if (integer(window).value_or(0) != 0)
    fail(window, "no window in this family");
}

void Translator::translateExperts() {
  int64_t experts = integer(prefix + "expert_count").value_or(0);
  if (experts == 0)
    return;
  if (family.modelType != "qwen3_moe" && !isGlm)
    return fail(prefix + "expert_count", "no experts in this family");
  int64_t used = required(prefix + "expert_used_count");
  int64_t width = integer(prefix + "expert_feed_forward_length").value_or(0);
  if (width == 0 && used > 0)
    width = required(prefix + "feed_forward_length") / used;
  config.add(isGlm ? "n_routed_experts" : "num_experts", experts);
  config.add("num_experts_per_tok", used);
  config.add("moe_intermediate_size", width);
  if (isGlm)
    return translateScores();
  expect(prefix + "expert_weights_scale", 1);
  // The file does not say so; the architecture does.
  config.addFlag("norm_topk_prob", true);
}

void Translator::translateScores() {
  constexpr double kSigmoid = 2;
  expect(prefix + "expert_gating_func", kSigmoid);
  auto add = [&](std::string_view key, const char *name, int64_t absent) {
    config.add(key, integer(prefix + name).value_or(absent));
  };
  add("n_shared_experts", "expert_shared_count", 0);
  add("first_k_dense_replace", "leading_dense_block_count", 0);
  add("n_group", "expert_group_count", 1);
  add("topk_group", "expert_group_used_count", 1);
  double scale = number(prefix + "expert_weights_scale").value_or(1);
  // 0 means no scale.
  config.add("routed_scaling_factor", scale == 0 ? 1 : scale);
  const std::string key = prefix + "expert_weights_norm";
  const GgufValue *value = header.find(key);
  auto flags = value && !value->isArray() ? value->flags() : std::nullopt;
  if (value && !flags)
    fail(key, "a boolean");
  config.addFlag("norm_topk_prob", flags && flags->front());
}

/// Returns a fraction of which readRope() makes `part` of `whole`.
double fractionOf(int64_t part, int64_t whole) {
  double fraction = double(part) / double(whole);
  return int64_t(double(whole) * fraction) == part
             ? fraction
             : std::nextafter(fraction, 1.0);
}

void Translator::translateRope() {
  theta = number(prefix + "rope.freq_base").value_or(theta);
  config.add("rope_theta", theta);
  int64_t rotating = integer(prefix + "rope.dimension_count").value_or(headDim);
  if (isGlm && headDim > 0)
    config.add("partial_rotary_factor", fractionOf(rotating, headDim));
  else if (rotating != headDim)
    fail(prefix + "rope.dimension_count",
         std::to_string(headDim) + ", the width of a head");
  const GgufPart *part = nullptr;
  const GgufTensor *divisors = findTensor("rope_freqs.weight", &part);
  if (divisors && failure.isOk())
    translateDivisors(*divisors, *part);
  else
    translateScaling();
}

void Translator::translateScaling() {
  const std::string scaling = prefix + "rope.scaling.";
  std::string_view type = header.text(scaling + "type");
  std::optional<double> factor = number(scaling + "factor");
  if (!factor)
    factor = number(prefix + "rope.scale_linear");
  if (type == "none" || (!factor && (type.empty() || type == "linear")))
    return;
  JsonWriter rope;
  rope.addText("rope_type", type.empty() ? "linear" : type);
  rope.add("factor", factor.value_or(1.0));
  std::optional<int64_t> original =
      integer(scaling + "original_context_length");
  if (original)
    rope.add("original_max_position_embeddings", *original);
  if (type == "yarn") {
    expect(scaling + "yarn_log_multiplier", 0);
    expect(scaling + "yarn_ext_factor", 1);
    expect(scaling + "yarn_attn_factor", 1);
    for (const char *key : {"beta_fast", "beta_slow"})
      if (auto value = number(scaling + "yarn_" + key))
        rope.add(key, *value);
    if (auto weight = number(scaling + "attn_factor"))
      rope.add("attention_factor",
               *weight * (1 + 0.1 * std::log(std::max(1.0, *factor))));
  }
  config.add("rope_scaling", std::string_view(rope.finish()));
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

void Translator::translateDivisors(const GgufTensor &tensor,
                                   const GgufPart &part) {
  std::vector<float> stored(size_t(std::max<int64_t>(headDim / 2, 0)));
  if (stored.empty() || tensor.type != WeightType::F32 ||
      tensor.size != stored.size() * sizeof(float)) {
    failure = invalidArgument(
        "tensor \"rope_freqs.weight\": expected a number for each of " +
        std::to_string(stored.size()) + " frequencies");
    return;
  }
  decodeRun(tensor.type, part.bytes.data() + tensor.offset, 0,
            int64_t(stored.size()), stored.data());
  auto frequency = [&](size_t i) {
    return std::pow(theta, -2.0 * double(i) / double(headDim));
  };
  double factor = stored.back(), original = 8192;
  for (size_t i = stored.size(); i-- > 0;)
    if (stored[i] > 1 && stored[i] < factor)
      original = llama3Original(frequency(i), factor, stored[i]);
  for (size_t i = 0; i < stored.size(); ++i) {
    double expected = llama3Divisor(frequency(i), factor, original);
    if (!(std::abs(stored[i] - expected) <= 1e-4 * expected)) {
      failure = unimplemented(
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
  config.add("rope_scaling", std::string_view(rope.finish()));
}

void Translator::translateTokens() {
  const std::string tokenizer = "tokenizer.ggml.";
  bool isSentencePiece = header.text(tokenizer + "model") == "llama";
  std::optional<int64_t> bos = integer(tokenizer + "bos_token_id");
  if (!bos && isSentencePiece)
    bos = 1;
  config.add("bos_token_id",
             std::string_view(bos ? std::to_string(*bos) : "null"));
  std::vector<int64_t> stops;
  auto add = [&](std::optional<int64_t> id) {
    if (id && std::ranges::find(stops, *id) == stops.end())
      stops.push_back(*id);
  };
  add(integer(tokenizer + "eos_token_id"));
  if (stops.empty() && isSentencePiece)
    add(2);
  add(integer(tokenizer + "eot_token_id"));
  add(integer(tokenizer + "eom_token_id"));
  const GgufValue *tokens = header.find(tokenizer + "tokens");
  const GgufValue *types = header.find(tokenizer + "token_type");
  if (!tokens || !types || tokens->size() != types->size() ||
      tokens->size() > kMostIds)
    tokens = types = nullptr;
  auto texts = tokens ? tokens->texts() : std::nullopt;
  auto kinds = types ? types->integers() : std::nullopt;
  for (size_t id = 0; texts && kinds && id < texts->size(); ++id) {
    bool isMarked = (*kinds)[id] == kControl || (*kinds)[id] == kUserDefined;
    if (isMarked && std::ranges::find(kStops, (*texts)[id]) != std::end(kStops))
      add(int64_t(id));
  }
  std::string list;
  for (int64_t id : stops)
    list += (list.empty() ? "" : ", ") + std::to_string(id);
  config.add("eos_token_id", std::string_view("[" + list + "]"));
}

void Translator::translateSampling() {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"penalty_repeat", "repetition_penalty"},
  };
  bool hasAny = false;
  for (auto [name, key] : kNames) {
    std::string full = "general.sampling." + std::string(name);
    if (!header.find(full))
      continue;
    hasAny = true;
    if (name == "top_k")
      config.add(key, required(full));
    else
      config.add(key, number(full).value_or(0));
  }
  if (hasAny)
    config.addFlag("do_sample", true);
}

Result<std::string> Translator::run() {
  translateSizes();
  translateAttention();
  translateExperts();
  translateRope();
  translateTokens();
  translateSampling();
  MTP_RETURN_IF_ERROR(failure);
  return config.finish();
}

} // namespace

Result<std::string> translateGgufConfig(std::span<const GgufPart> parts) {
  MTP_ASSIGN_OR_RETURN(GgufFamily family, findGgufFamily(parts.front().header));
  return Translator(parts, family).run();
}

} // namespace mtp::importer
