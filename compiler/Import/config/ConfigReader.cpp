//===- ConfigReader.cpp - Reading config.json -----------------------------===//

#include "compiler/Import/config/ConfigReader.h"

#include "compiler/Import/config/ConfigFamilies.h"
#include "compiler/Import/config/ForeignConfig.h"
#include "compiler/Import/config/GgufConfig.h"
#include "compiler/Import/config/MetaConfig.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/InputFile.h"
#include "compiler/Weights/QuantizationConfig.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <span>

namespace mtp::importer {

namespace {

constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr size_t kMaxConfigDepth = 32;
constexpr int64_t kMaxPositions = int64_t(1) << 31;
constexpr const char *kConfigFile = "config.json";
constexpr const char *kMetaFile = "params.json";
constexpr const char *kGenerationFile = "generation_config.json";
constexpr double kMaxTemperature = 100.0;
constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();

constexpr FamilyDefaults kDeepSeekDefaults = {129280, 7168, 18432, 61, 128,
                                              128,    4096, 1e-6,  0,  1};
constexpr FamilyDefaults kQwenDefaults = {
    151936, 4096, 22016, 32, 32, 32, 32768, 1e-6, std::nullopt, std::nullopt};

struct Family {
  std::string_view name;
  FamilyReader read;
  FamilyDefaults defaults;
  /// A key that refuseForeignKeys() refuses in other families.
  std::string_view ownKey = {};
};

/// kimi_k2 is DeepSeek's code under another name. MiMo's configuration class is
/// Qwen2's, plus the number of its MTP modules.
constexpr Family kFamilies[] = {
    {"deepseek_v3", readDeepSeek, kDeepSeekDefaults},
    {"dots1",
     readDots1,
     {152064, 4608, 10944, 62, 32, 32, 2048, 1e-6, std::nullopt, std::nullopt}},
    {"ernie4_5",
     readErnie,
     {103424, 1024, 3072, 18, 16, 2, 131072, 1e-5, 1, 2, /*isTied=*/true}},
    {"ernie4_5_moe",
     readErnieMoe,
     {103424, 2560, 12288, 28, 20, 4, 131072, 1e-5, 1, 2, /*isTied=*/true}},
    {"gemma3_text",
     readGemma3,
     {262208, 2304, 9216, 26, 8, 4, 131072, 1e-6, 2, 1, /*isTied=*/true},
     "query_pre_attn_scalar"},
    {"glm4_moe",
     readGlm4Moe,
     {151552, 4096, 10944, 46, 96, 8, 131072, 1e-5, std::nullopt,
      std::nullopt}},
    {"glm4_moe_lite",
     readGlm4MoeLite,
     {154880, 2048, 10240, 47, 20, 20, 202752, 1e-5, 0, 1}},
    {"hy_v3",
     readHy3,
     {120832, 4096, 13312, 80, 64, 8, 131072, 1e-5, std::nullopt,
      std::nullopt}},
    {"kimi_k2", readDeepSeek, kDeepSeekDefaults},
    {"llama", readLlama, {32000, 4096, 11008, 32, 32, 0, 2048, 1e-6, 1, 2}},
    {"mimo", readMiMo, kQwenDefaults},
    {"minimax_m2",
     readMiniMaxM2,
     {200064, 3072, 1536, 62, 48, 8, 196608, 1e-6, 200034, 200020}},
    {"ministral3",
     readMinistral3,
     {131072, 4096, 14336, 34, 32, 8, 262144, 1e-5, 1, 2}},
    {"mistral",
     readMistral,
     {32000, 4096, 14336, 32, 32, 8, 131072, 1e-6, 1, 2}},
    {"qwen2", readQwen2, kQwenDefaults},
    {"qwen3", readQwen3, kQwenDefaults},
    {"qwen3_moe",
     readQwen3Moe,
     {151936, 2048, 6144, 24, 32, 4, 32768, 1e-6, std::nullopt, std::nullopt}},
    {"qwen3_next",
     readQwen3Next,
     {151936, 2048, 5632, 48, 16, 2, 32768, 1e-6, std::nullopt, std::nullopt}},
    {"qwen3_5_text",
     readQwen35,
     {248320, 4096, 12288, 32, 16, 4, 32768, 1e-6, std::nullopt, std::nullopt}},
    {"qwen3_5_moe_text",
     readQwen35Moe,
     {248320, 2048, 512, 40, 16, 2, 32768, 1e-6, std::nullopt, std::nullopt}},
    {"seed_oss",
     readSeedOss,
     {155136, 4096, 27648, 64, 80, 8, 524288, 1e-6, 0, 2}},
    {"youtu",
     readYoutu,
     {128256, 2048, 6144, 32, 16, 16, 131072, 1e-6, 128000, 128001,
      /*isTied=*/true}},
};

/// A family whose text model, under "text_config", is one of kFamilies.
struct Wrapper {
  std::string_view name;
  /// The text model's family if "text_config" does not name it.
  std::string_view inner;
  /// The published layout, and the layout that transformers 5 writes.
  std::array<KeyLayout, 2> layouts;
};

/// The image part of these models is not read.
const Wrapper kWrappers[] = {
    {"gemma3",
     "gemma3_text",
     {KeyLayout{"language_model.model.", "language_model.lm_head.weight"},
      KeyLayout{"model.language_model.", "lm_head.weight"}}},
    {"kimi_k25",
     "deepseek_v3",
     {KeyLayout{"language_model.model.", "language_model.lm_head.weight"},
      KeyLayout{"model.language_model.", "lm_head.weight"}}},
    {"qwen3_5",
     "qwen3_5_text",
     {KeyLayout{"model.language_model.", "lm_head.weight"},
      KeyLayout{"language_model.model.", "language_model.lm_head.weight"}}},
    {"qwen3_5_moe",
     "qwen3_5_moe_text",
     {KeyLayout{"model.language_model.", "lm_head.weight"},
      KeyLayout{"language_model.model.", "language_model.lm_head.weight"}}},
};

/// A family that is not supported, and the reason.
struct Refusal {
  std::string_view name, reason;
};

constexpr Refusal kRefusals[] = {
    {"deepseek_v32", "its attention selects positions with an indexer"},
    {"gpt_oss", "its attention has sinks"},
};

/// Returns the type that the model was trained in.
WeightType readStoredType(ConfigFields &fields) {
  const char *key = fields.has("dtype") ? "dtype" : "torch_dtype";
  std::string name = fields.textOr(key, "bfloat16");
  WeightType type = WeightType::BF16;
  if (name == "float32")
    type = WeightType::F32;
  else if (name == "float16")
    type = WeightType::F16;
  else if (name != "bfloat16")
    fields.fail(key, "\"bfloat16\", \"float16\" or \"float32\"");
  return type;
}

void readCommon(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults) {
  config.vocab = fields.dimensionOr("vocab_size", defaults.vocab);
  config.hidden = fields.dimensionOr("hidden_size", defaults.hidden);
  LayerConfig layer;
  layer.mixer.attention->heads =
      fields.dimensionOr("num_attention_heads", defaults.heads);
  layer.feed.width =
      fields.dimensionOr("intermediate_size", defaults.intermediate);
  config.maxPositions = fields.integerOr("max_position_embeddings", 2,
                                         kMaxPositions, defaults.maxPositions);
  config.norm.eps = fields.positiveOr("rms_norm_eps", defaults.normEps);
  layer.mixer.norms.form = layer.feed.norms.form = config.norm;
  config.isTied = fields.flagOr("tie_word_embeddings", defaults.isTied);
  config.layers.assign(size_t(fields.integerOr("num_hidden_layers", 1,
                                               kMostLayers, defaults.layers)),
                       layer);
  config.drafterLayer = layer;
  // swish is another name of silu.
  if (fields.textOr("hidden_act", "silu") != "swish")
    fields.expectText("hidden_act", "silu");
  config.storedType = readStoredType(fields);
}

/// Reads token ids. Ids of the second file override ids of the first.
void readTokens(ConfigFields &fields, GenerationConfig &generation) {
  std::vector<int64_t> bos = fields.integers("bos_token_id", 0, kMaxToken);
  if (bos.size() == 1)
    generation.bos = int32_t(bos.front());
  if (!fields.has("eos_token_id"))
    return;
  generation.eos.clear();
  for (int64_t id : fields.integers("eos_token_id", 0, kMaxToken))
    generation.eos.push_back(int32_t(id));
}

/// Applies the family's default ids to absent keys. Null means no token.
void applyTokenDefaults(const ConfigFields &fields,
                        const FamilyDefaults &defaults,
                        GenerationConfig &generation) {
  if (!fields.has("bos_token_id") && !fields.isNull("bos_token_id"))
    generation.bos = defaults.bos;
  if (!fields.has("eos_token_id") && !fields.isNull("eos_token_id") &&
      defaults.eos)
    generation.eos = {*defaults.eos};
}

/// Keys of generation configs that are not applied, each with the value that
/// has no effect.
constexpr std::pair<std::string_view, double> kNotApplied[] = {
    {"penalty_repeat", 1},
    {"encoder_repetition_penalty", 1},
    {"presence_penalty", 0},
    {"frequency_penalty", 0},
    {"no_repeat_ngram_size", 0},
    {"encoder_no_repeat_ngram_size", 0},
    {"typical_p", 1},
    {"top_h", 1},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"penalty_alpha", 0},
    {"guidance_scale", 1},
    {"num_beams", 1},
    {"num_beam_groups", 1},
    {"diversity_penalty", 0},
    {"min_length", 0},
    {"min_new_tokens", 0},
    {"max_new_tokens", 0},
    {"bad_words_ids", 0},
    {"suppress_tokens", 0},
    {"begin_suppress_tokens", 0},
    {"forced_bos_token_id", -1},
    {"forced_eos_token_id", -1},
    {"sequence_bias", 0},
    {"exponential_decay_length_penalty", 0},
    {"stop_strings", 0},
    {"constraints", 0},
    {"force_words_ids", 0},
    {"dola_layers", 0},
    {"watermarking_config", 0},
};

/// Adds warnings about recommended settings that are not applied.
void noteNotApplied(const ConfigFields &fields, const std::string &file,
                    GenerationConfig &generation) {
  for (const auto &[key, neutral] : kNotApplied)
    if (fields.has(key) && !fields.isEmptyOr(key, neutral))
      generation.warnings.push_back(file + " recommends \"" + std::string(key) +
                                    "\": " + fields.shown(key) +
                                    ", which is not applied");
}

/// Reads sampling parameters. Values out of range would fail at each run.
void readSampling(ConfigFields &fields, GenerationConfig &generation) {
  auto take = [&](const char *key, double least, double most,
                  const std::string &range, std::optional<double> &value) {
    if (!fields.has(key))
      return;
    double number = fields.numberOr(key, least);
    // The module stores the number with 32 bits.
    if (!(float(number) >= float(least) && number <= most))
      fields.fail(key, "a number " + range);
    value = number;
  };
  // It changes greedy picks, too.
  take("repetition_penalty", 1e-3, 1e3, "of 0.001 to 1000",
       generation.repetitionPenalty);
  if (generation.repetitionPenalty == 1.0)
    generation.repetitionPenalty.reset();
  // Without `do_sample` the other keys are leftovers without meaning.
  if (!fields.flagOr("do_sample", false))
    return;
  // The default of transformers.
  generation.temperature = 1.0;
  take("temperature", 0, kMaxTemperature, "of 0 to 100",
       generation.temperature);
  take("top_p", std::numeric_limits<float>::denorm_min(), 1,
       "above 0 and up to 1", generation.topP);
  take("min_p", 0, 1, "of 0 to 1", generation.minP);
  // Engines write -1 or 0 for all tokens.
  if (fields.has("top_k"))
    generation.topK =
        std::max<int64_t>(fields.integer("top_k", -1, kMaxToken), 0);
}

void checkHeads(ConfigFields &fields, const ModelConfig &config) {
  const AttentionConfig *attention = config.attention();
  if (attention && attention->gqa &&
      attention->heads % attention->gqa->kvHeads != 0)
    fields.fail("num_key_value_heads", "a divisor of the " +
                                           std::to_string(attention->heads) +
                                           " \"num_attention_heads\"");
}

/// Fails if a token id is outside the vocabulary. The message names the file
/// that the id came from.
Status checkTokens(const ModelConfig &config, const ConfigFields &generation) {
  auto check = [&](const char *key, std::span<const int32_t> ids) {
    for (int32_t id : ids)
      if (id >= config.vocab)
        return outOfRange("config key \"" + std::string(key) +
                          "\": expected token ids below the \"vocab_size\" " +
                          std::to_string(config.vocab) + ", got " +
                          std::to_string(id))
            .withContext(generation.has(key) ? kGenerationFile : config.file);
    return okStatus();
  };
  const GenerationConfig &tokens = config.generation;
  MTP_RETURN_IF_ERROR(check("eos_token_id", tokens.eos));
  if (!tokens.bos)
    return okStatus();
  return check("bos_token_id", {&*tokens.bos, 1});
}

const Family *findFamily(ConfigFields &fields, std::string_view name) {
  std::string known;
  for (const Family &family : kFamilies) {
    if (family.name == name)
      return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  for (const Wrapper &wrapper : kWrappers)
    known += ", " + std::string(wrapper.name);
  for (const Refusal &refusal : kRefusals)
    if (refusal.name == name)
      fields.failAs("model_type", unimplemented("\"" + std::string(name) +
                                                "\" is not supported: " +
                                                std::string(refusal.reason)));
  std::string nearest = describeNearest(fields, name);
  fields.failAs("model_type",
                invalidArgument("expected one of " + known + ", got \"" +
                                std::string(name) + "\"; " + nearest));
  return nullptr;
}

/// Reads the text model's config within another config. Keys of the outer
/// config that describe the whole model have precedence.
Status readWrapped(ConfigFields &fields, const Wrapper &wrapper,
                   ModelConfig &config) {
  std::optional<ConfigFields> inner = fields.child("text_config");
  if (!inner)
    fields.fail("text_config", "an object");
  MTP_RETURN_IF_ERROR(fields.status());
  config.layouts.assign(wrapper.layouts.begin(), wrapper.layouts.end());
  MTP_RETURN_IF_ERROR(
      readFamily(*inner, inner->textOr("model_type", wrapper.inner), config));
  config.isTied = fields.flagOr("tie_word_embeddings", config.isTied);
  readTokens(fields, config.generation);
  return fields.status();
}

Status readConfig(ConfigFields &fields, ModelConfig &config) {
  if (isMetaConfig(fields))
    return readMetaModel(fields, config);
  refuseDrafter(fields);
  MTP_RETURN_IF_ERROR(fields.status());
  std::string name = fields.text("model_type");
  for (const Wrapper &wrapper : kWrappers)
    if (wrapper.name == name)
      return readWrapped(fields, wrapper, config);
  return readFamily(fields, name, config);
}

ConfigFields fieldsOf(const JsonTree &document) {
  // parseObject() has checked that the root is an object.
  return ConfigFields(document.root().get_object().value_unsafe());
}

/// Parses a config. Without generation_config.json, sampling parameters are
/// read from the config itself, as in transformers.
Status parseConfig(std::string_view text, bool hasGeneration,
                   ModelConfig &config) {
  MTP_ASSIGN_OR_RETURN(JsonTree document, parseObject(text));
  ConfigFields fields = fieldsOf(document);
  MTP_RETURN_IF_ERROR(readConfig(fields, config));
  if (hasGeneration)
    return okStatus();
  readSampling(fields, config.generation);
  noteNotApplied(fields, config.file, config.generation);
  return fields.status();
}

Status readGeneration(ConfigFields &fields, ModelConfig &config) {
  readTokens(fields, config.generation);
  readSampling(fields, config.generation);
  noteNotApplied(fields, kGenerationFile, config.generation);
  return fields.status();
}

/// Reads the quantization of a file, if it describes one. Only stored tensors
/// say which weights are quantised, so weights without files are of one type.
Status readQuantization(std::string_view text, std::string_view file,
                        ModelConfig &config) {
  Result<QuantizationConfig> quantization = parseQuantizationConfig(text, file);
  if (!quantization)
    return quantization.status().withContext(std::string(file));
  if (!quantization->method.empty())
    config.storedType =
        quantization->isFloat8() ? WeightType::F8E4M3 : WeightType::F16;
  return okStatus();
}

/// Returns a file's text; empty if the file does not exist.
Result<std::string> readOptional(const std::string &path) {
  Result<std::string> text = readTextFile(path, kMaxConfigBytes);
  if (!text && text.status().code() == StatusCode::NotFound)
    return std::string();
  return text;
}

/// Reads the config of a model in GGUF.
Result<ModelConfig> readGguf(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(GgufModel model, GgufModel::open(path));
  MTP_ASSIGN_OR_RETURN(GgufContent content, describeGguf(model.parts));
  bool isModules = !content.hasLayers && content.stored > 0;
  if (content.isDrafter || isModules)
    return invalidArgument(
        "expected a model, got " +
        (isModules
             ? std::string("a model's MTP modules without its layers")
             : "a drafter, \"" + std::string(content.architecture) + "\"") +
        "; import the model that it drafts for, with --drafter and this file");
  MTP_ASSIGN_OR_RETURN(ModelConfig config, readGgufConfig(model));
  config.drafter.missing = content.modules - content.stored;
  return config;
}

} // namespace

Result<JsonTree> parseObject(std::string_view text) {
  MTP_ASSIGN_OR_RETURN(JsonTree document,
                       parseJson(text, kMaxConfigDepth, JsonDialect::Python));
  if (!document.root().is_object())
    return invalidArgument(std::string("expected an object, got ") +
                           describe(document.root()));
  return document;
}

int64_t headsOf(const ModelConfig &config) {
  const AttentionConfig *attention = config.attention();
  return attention ? attention->heads : 0;
}

void setAttention(ModelConfig &config, const GqaConfig &gqa,
                  const RopeConfig &rope) {
  auto set = [&](LayerConfig &layer) {
    layer.mixer.attention->gqa = gqa;
    layer.mixer.attention->rope = rope;
  };
  std::ranges::for_each(config.layers, set);
  set(config.drafterLayer);
}

int64_t readNormOffset(ConfigFields &fields) {
  return fields.integerOr("norm_weight_offset", 0, 1, 1);
}

void setNormOffset(ModelConfig &config, int64_t offset) {
  config.norm.offset = offset;
  auto set = [&](LayerConfig &layer) {
    layer.mixer.norms.form.offset = layer.feed.norms.form.offset = offset;
  };
  std::ranges::for_each(config.layers, set);
  set(config.drafterLayer);
}

void setExperts(ModelConfig &config, const std::vector<bool> &isSparse,
                const MoeConfig &moe) {
  for (size_t i = 0; i < config.layers.size(); ++i)
    if (isSparse[i])
      config.layers[i].feed.moe = moe;
}

Status readFamily(ConfigFields &fields, const std::string &modelType,
                  ModelConfig &config, bool seesAhead) {
  config.family = modelType;
  const Family *family = findFamily(fields, config.family);
  MTP_RETURN_IF_ERROR(fields.status());
  readCommon(fields, config, family->defaults);
  MTP_RETURN_IF_ERROR(fields.status());
  family->read(fields, config, family->defaults);
  refuseForeignKeys(fields, family->ownKey);
  if (!seesAhead)
    fields.expectFlag("is_causal", true);
  readTokens(fields, config.generation);
  applyTokenDefaults(fields, family->defaults, config.generation);
  checkHeads(fields, config);
  return fields.status();
}

Result<ModelConfig> parseModelConfig(std::string_view text,
                                     std::string_view generation,
                                     std::string_view modelOpt,
                                     std::string file) {
  ModelConfig config;
  config.file = std::move(file);
  MTP_RETURN_IF_ERROR(
      parseConfig(text, !generation.empty(), config).withContext(config.file));
  Result<JsonTree> document =
      parseObject(generation.empty() ? "{}" : generation);
  if (!document)
    return document.status().withContext(kGenerationFile);
  ConfigFields fields = fieldsOf(*document);
  MTP_RETURN_IF_ERROR(
      readGeneration(fields, config).withContext(kGenerationFile));
  MTP_RETURN_IF_ERROR(checkTokens(config, fields));
  MTP_RETURN_IF_ERROR(readQuantization(text, kConfigFile, config));
  if (!modelOpt.empty())
    MTP_RETURN_IF_ERROR(
        readQuantization(modelOpt, "hf_quant_config.json", config));
  return config;
}

Result<ModelConfig> readGgufConfig(const GgufModel &model) {
  MTP_ASSIGN_OR_RETURN(std::string text, translateGgufConfig(model.parts));
  return parseModelConfig(
      text, "", {},
      std::filesystem::path(model.paths.front()).filename().string());
}

Result<ModelConfig> readModelConfig(const std::string &folder) {
  if (isGgufPath(folder))
    return readGguf(folder);
  // Meta's checkpoints have params.json instead.
  MTP_ASSIGN_OR_RETURN(std::string params,
                       readOptional(folder + "/" + kMetaFile));
  Result<std::string> own =
      readTextFile(folder + "/" + kConfigFile, kMaxConfigBytes);
  bool isMissing = !own && own.status().code() == StatusCode::NotFound;
  if (!own && !(isMissing && !params.empty()))
    return own.status();
  MTP_ASSIGN_OR_RETURN(std::string generation,
                       readOptional(folder + "/generation_config.json"));
  MTP_ASSIGN_OR_RETURN(std::string modelOpt,
                       readOptional(folder + "/hf_quant_config.json"));
  return parseModelConfig(own ? *own : params, generation, modelOpt,
                          own ? kConfigFile : kMetaFile);
}

} // namespace mtp::importer
