//===- ConfigReader.cpp - Reading config.json -----------------------------===//

#include "compiler/Import/ConfigReader.h"

#include "compiler/Import/ConfigFamilies.h"
#include "compiler/Weights/InputFile.h"

#include <limits>

namespace mtp::importer {

namespace {

constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr size_t kMaxConfigDepth = 32;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxPositions = int64_t(1) << 31;
constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();

struct Family {
  std::string_view name;
  void (*read)(ConfigFields &fields, ModelConfig &config);
};

constexpr Family kFamilies[] = {
    {"deepseek_v3", readDeepSeek}, {"glm4_moe", readGlm4Moe},
    {"llama", readLlama},          {"mimo", readMiMo},
    {"qwen2", readQwen2},          {"qwen3", readQwen3},
    {"qwen3_moe", readQwen3},
};

/// Families that are asked for, and what keeps them out.
struct Refusal {
  std::string_view name, reason;
};

constexpr Refusal kRefusals[] = {
    {"deepseek_v32", "its attention selects positions with an indexer"},
    {"gpt_oss", "its attention has sinks"},
    {"qwen3_next", "its layers have recurrent state"},
    {"qwen3_5", "its layers have recurrent state"},
    {"qwen3_5_moe", "its layers have recurrent state"},
};

/// The type of the file's weights. FP8 is said under quantization, beside the
/// type that the model was trained in.
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
  std::optional<ConfigFields> quantization =
      fields.child("quantization_config");
  if (!quantization)
    return type;
  quantization->text("quant_method");
  quantization->expectText("quant_method", "fp8");
  quantization->expectText("fmt", "e4m3");
  std::vector<int64_t> block =
      quantization->integers("weight_block_size", 1, 1 << 16);
  if (block != std::vector<int64_t>{128, 128})
    quantization->fail("weight_block_size", "[128, 128]");
  fields.adopt(*quantization);
  return WeightType::F8E4M3;
}

void readCommon(ConfigFields &fields, ModelConfig &config) {
  config.vocab = fields.dimension("vocab_size");
  config.hidden = fields.dimension("hidden_size");
  config.heads = fields.dimension("num_attention_heads");
  config.intermediate = fields.dimension("intermediate_size");
  config.maxPositions =
      fields.integer("max_position_embeddings", 2, kMaxPositions);
  config.normEps = fields.positive("rms_norm_eps");
  config.isTied = fields.flagOr("tie_word_embeddings", false);
  config.layers.resize(
      size_t(fields.integer("num_hidden_layers", 1, kMaxLayers)));
  fields.expectText("hidden_act", "silu");
  config.storedType = readStoredType(fields);
}

/// Token ids; a second file's override the first's.
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

void readSampling(ConfigFields &fields, GenerationConfig &generation) {
  // Without `do_sample` the other keys are left over and mean nothing.
  if (!fields.flagOr("do_sample", false))
    return;
  auto take = [&](const char *key, std::optional<double> &value) {
    if (fields.has(key))
      value = fields.numberOr(key, 0.0);
  };
  take("temperature", generation.temperature);
  take("top_p", generation.topP);
  take("min_p", generation.minP);
  if (fields.has("top_k"))
    generation.topK = fields.integer("top_k", 0, kMaxToken);
}

void checkHeads(ConfigFields &fields, const ModelConfig &config) {
  if (config.gqa && config.heads % config.gqa->kvHeads != 0)
    fields.fail("num_key_value_heads", "a divisor of the " +
                                           std::to_string(config.heads) +
                                           " \"num_attention_heads\"");
}

void checkTokens(ConfigFields &fields, const ModelConfig &config) {
  std::vector<int32_t> ids = config.generation.eos;
  if (config.generation.bos)
    ids.push_back(*config.generation.bos);
  for (int32_t id : ids)
    if (id >= config.vocab)
      fields.failAs("vocab_size", outOfRange("expected more than token id " +
                                             std::to_string(id) + ", got " +
                                             std::to_string(config.vocab)));
}

const Family *findFamily(ConfigFields &fields, std::string_view name) {
  std::string known;
  for (const Family &family : kFamilies) {
    if (family.name == name)
      return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  for (const Refusal &refusal : kRefusals)
    if (refusal.name == name)
      fields.failAs("model_type", unimplemented("\"" + std::string(name) +
                                                "\" is not supported: " +
                                                std::string(refusal.reason)));
  fields.fail("model_type", "one of " + known);
  return nullptr;
}

Status readConfig(ConfigFields &fields, ModelConfig &config) {
  config.family = fields.text("model_type");
  const Family *family = findFamily(fields, config.family);
  MTP_RETURN_IF_ERROR(fields.status());
  readCommon(fields, config);
  MTP_RETURN_IF_ERROR(fields.status());
  family->read(fields, config);
  readTokens(fields, config.generation);
  checkHeads(fields, config);
  return fields.status();
}

Result<StrictJson> parseObject(std::string_view text) {
  MTP_ASSIGN_OR_RETURN(StrictJson document,
                       StrictJson::parse(text, kMaxConfigDepth));
  if (!document.root().is_object())
    return invalidArgument(std::string("expected an object, got ") +
                           describe(document.root()));
  return document;
}

ConfigFields fieldsOf(const StrictJson &document) {
  // parseObject() has seen to it that the root is an object.
  return ConfigFields(document.root().get_object().value_unsafe());
}

Status parseConfig(std::string_view text, ModelConfig &config) {
  MTP_ASSIGN_OR_RETURN(StrictJson document, parseObject(text));
  ConfigFields fields = fieldsOf(document);
  return readConfig(fields, config);
}

Status parseGeneration(std::string_view text, ModelConfig &config) {
  MTP_ASSIGN_OR_RETURN(StrictJson document, parseObject(text));
  ConfigFields fields = fieldsOf(document);
  readTokens(fields, config.generation);
  readSampling(fields, config.generation);
  checkTokens(fields, config);
  return fields.status();
}

} // namespace

Result<ModelConfig> parseModelConfig(std::string_view text,
                                     std::string_view generation) {
  ModelConfig config;
  MTP_RETURN_IF_ERROR(parseConfig(text, config).withContext("config.json"));
  MTP_RETURN_IF_ERROR(
      parseGeneration(generation.empty() ? "{}" : generation, config)
          .withContext("generation_config.json"));
  return config;
}

Result<ModelConfig> readModelConfig(const std::string &folder) {
  MTP_ASSIGN_OR_RETURN(std::string config,
                       readTextFile(folder + "/config.json", kMaxConfigBytes));
  Result<std::string> generation =
      readTextFile(folder + "/generation_config.json", kMaxConfigBytes);
  if (!generation && generation.status().code() != StatusCode::NotFound)
    return generation.status();
  return parseModelConfig(config, generation ? *generation : std::string());
}

} // namespace mtp::importer
