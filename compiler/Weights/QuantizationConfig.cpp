//===- QuantizationConfig.cpp - A folder's quantization config ------------===//

#include "compiler/Weights/QuantizationConfig.h"

#include "compiler/Weights/InputFile.h"
#include "compiler/Weights/Json.h"

#include <algorithm>
#include <optional>

namespace mtp {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr size_t kMaxConfigDepth = 32;
constexpr int64_t kMostElements = int64_t(1) << 24;

/// Files that may describe a quantization, in the order in which they are read.
constexpr std::string_view kFiles[] = {"config.json", "hf_quant_config.json",
                                       "quantize_config.json",
                                       "quant_config.json"};

constexpr std::string_view kMethods[] = {
    "auto-round", "awq",  "compressed-tensors", "fbgemm_fp8",
    "fp8",        "gptq", "modelopt",           "mxfp4"};

constexpr std::string_view kNextStep =
    "; import the model that it was made from, and quantise it with mtpc "
    "--quantize=int8 or --quantize=int4";

std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// Returns a text; nothing for other values.
std::optional<std::string_view> textAt(object fields, std::string_view key) {
  std::string_view text;
  std::optional<element> value = findLast(fields, key);
  if (!value || value->get_string().get(text))
    return std::nullopt;
  return text;
}

std::optional<object> objectAt(object fields, std::string_view key) {
  object child;
  std::optional<element> value = findLast(fields, key);
  if (!value || value->get_object().get(child))
    return std::nullopt;
  return child;
}

bool isTrue(object fields, std::string_view key) {
  bool flag = false;
  std::optional<element> value = findLast(fields, key);
  return value && !value->get_bool().get(flag) && flag;
}

/// Reads one config into `config`.
class Reader {
public:
  Reader(QuantizationConfig &config, std::string path)
      : config(config), path(std::move(path)) {}

  Status read(object fields);

private:
  Status fail(std::string_view key, const std::string &expected,
              const std::string &got) const {
    return unimplemented("config key \"" + path + std::string(key) +
                         "\": expected " + expected + ", got " + got);
  }
  Status readInteger(object fields, std::string_view key, int64_t least,
                     int64_t most, std::vector<int64_t> &out) const;
  Status readNumbers(object fields);
  Status readBlock(object fields, std::string_view key);
  Status readFormat(object fields, std::string_view key);
  Status readDetails(object fields);
  Status readMethod(object fields);
  Status expect(object fields, std::string_view key,
                std::initializer_list<std::string_view> known) const;

  QuantizationConfig &config;
  std::string path;
};

} // namespace

Status Reader::readInteger(object fields, std::string_view key, int64_t least,
                           int64_t most, std::vector<int64_t> &out) const {
  std::optional<element> value = findLast(fields, key);
  if (!value || value->is_null())
    return okStatus();
  int64_t number;
  if (value->get_int64().get(number) || number < least || number > most ||
      number == 0)
    return fail(key,
                (least < 0
                     ? "-1 or an integer of 1 to "
                     : "an integer of " + std::to_string(least) + " to ") +
                    std::to_string(most),
                simdjson::minify(*value));
  out.push_back(number);
  return okStatus();
}

Status Reader::readBlock(object fields, std::string_view key) {
  std::optional<element> value = findLast(fields, key);
  if (!value || value->is_null())
    return okStatus();
  simdjson::dom::array items;
  std::array<int64_t, 2> block;
  size_t count = 0;
  if (!value->get_array().get(items))
    for (element item : items) {
      if (count < 2 && (item.get_int64().get(block[count]) ||
                        block[count] < 1 || block[count] > kMostElements))
        count = 2;
      ++count;
    }
  if (count != 2)
    return fail(key, "two positive integers", simdjson::minify(*value));
  config.blocks.push_back(block);
  return okStatus();
}

Status Reader::readNumbers(object fields) {
  for (std::string_view key : {"bits", "w_bit", "num_bits"})
    MTP_RETURN_IF_ERROR(readInteger(fields, key, 1, 16, config.bits));
  for (std::string_view key : {"group_size", "q_group_size"})
    MTP_RETURN_IF_ERROR(
        readInteger(fields, key, -1, kMostElements, config.groups));
  MTP_RETURN_IF_ERROR(readBlock(fields, "weight_block_size"));
  return readBlock(fields, "block_structure");
}

Status Reader::expect(object fields, std::string_view key,
                      std::initializer_list<std::string_view> known) const {
  std::optional<std::string_view> text = textAt(fields, key);
  if (!text || std::ranges::find(known, *text) != known.end())
    return okStatus();
  std::string names;
  for (std::string_view name : known)
    names += (names.empty() ? "" : ", ") + inQuotes(name);
  return fail(key, "one of " + names, inQuotes(*text) + std::string(kNextStep));
}

/// Finds the method, which some files imply.
Status Reader::readMethod(object fields) {
  if (std::optional<std::string_view> name = textAt(fields, "quant_method"))
    config.method = *name;
  else if (isTrue(fields, "load_in_4bit") || isTrue(fields, "load_in_8bit"))
    config.method = "bitsandbytes";
  else if (findLast(fields, "quant_algo"))
    config.method = "modelopt";
  else if (findLast(fields, "w_bit"))
    config.method = "awq";
  else if (findLast(fields, "desc_act"))
    config.method = "gptq";
  if (std::ranges::find(kMethods, config.method) != std::end(kMethods))
    return okStatus();
  std::string names;
  for (std::string_view name : kMethods)
    names += (names.empty() ? "" : ", ") + inQuotes(name);
  return fail("quant_method", "one of " + names,
              config.method.empty()
                  ? "nothing"
                  : inQuotes(config.method) + std::string(kNextStep));
}

/// Reads the fields of one kind of layers.
Status Reader::readDetails(object fields) {
  MTP_RETURN_IF_ERROR(readFormat(fields, "format"));
  MTP_RETURN_IF_ERROR(readNumbers(fields));
  if (std::optional<object> weights = objectAt(fields, "weights"))
    MTP_RETURN_IF_ERROR(readNumbers(*weights));
  return okStatus();
}

Status Reader::readFormat(object fields, std::string_view key) {
  if (config.method == "compressed-tensors")
    return expect(fields, key,
                  {"dense", "pack-quantized", "int-quantized",
                   "float-quantized", "naive-quantized", "nvfp4-pack-quantized",
                   "mxfp4-pack-quantized", "mxfp8-quantized",
                   "mixed-precision"});
  if (config.method != "gptq")
    return okStatus();
  config.hasPlainZeros |= textAt(fields, key) == "gptq_v2";
  return expect(fields, key, {"gptq", "gptq_v2"});
}

Status Reader::read(object fields) {
  MTP_RETURN_IF_ERROR(readMethod(fields));
  MTP_RETURN_IF_ERROR(expect(fields, "fmt", {"e4m3", "float8_e4m3fn"}));
  MTP_RETURN_IF_ERROR(readDetails(fields));
  MTP_RETURN_IF_ERROR(readFormat(fields, "checkpoint_format"));
  if (config.method == "awq")
    MTP_RETURN_IF_ERROR(expect(fields, "version", {"gemm", "GEMM"}));
  if (config.method == "auto-round")
    MTP_RETURN_IF_ERROR(expect(fields, "packing_format",
                               {"auto_round:gptq", "auto_round:auto_gptq",
                                "auto_round:awq", "auto_round:auto_awq"}));
  if (config.method == "modelopt")
    MTP_RETURN_IF_ERROR(expect(fields, "quant_algo",
                               {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4",
                                "NVFP4_AWQ", "W4A16_NVFP4", "W4A8_NVFP4_FP8",
                                "W4A8_MXFP4_FP8", "MXFP8", "MIXED_PRECISION"}));
  if (findLast(fields, "sym"))
    config.isSymmetric = isTrue(fields, "sym");
  // Layers of their own kind, by a name or a pattern.
  for (std::string_view key :
       {"config_groups", "dynamic", "extra_config", "quantized_layers"})
    if (std::optional<object> kinds = objectAt(fields, key))
      for (auto kind : *kinds)
        if (object own; !kind.value.get_object().get(own))
          MTP_RETURN_IF_ERROR(readDetails(own));
  return okStatus();
}

bool QuantizationConfig::isFloat8() const {
  return method == "fp8" || method == "fbgemm_fp8";
}

Result<QuantizationConfig> parseQuantizationConfig(std::string_view text,
                                                   std::string_view file) {
  MTP_ASSIGN_OR_RETURN(JsonTree document,
                       parseJson(text, kMaxConfigDepth, JsonDialect::Python));
  QuantizationConfig config;
  object root;
  if (document.root().get_object().get(root))
    return invalidArgument(std::string("expected an object, got ") +
                           describe(document.root()));
  if (file == "quantize_config.json" || file == "quant_config.json") {
    MTP_RETURN_IF_ERROR(Reader(config, "").read(root));
    return config;
  }
  bool isModelOpt = file == "hf_quant_config.json";
  std::string key = isModelOpt ? "quantization" : "quantization_config";
  std::optional<object> fields = objectAt(root, key);
  std::string path = key + ".";
  if (std::optional<object> inner = objectAt(root, "text_config");
      !fields && inner) {
    fields = objectAt(*inner, key);
    path = "text_config." + path;
  }
  // modelopt writes a null algorithm if only the cache is quantised.
  if (isModelOpt && fields && !textAt(*fields, "quant_algo"))
    return config;
  if (fields)
    MTP_RETURN_IF_ERROR(Reader(config, path).read(*fields));
  else if (std::optional<object> mlx = objectAt(root, "quantization");
           mlx && findLast(*mlx, "group_size"))
    return unimplemented("config key \"quantization\": expected a model "
                         "without MLX's quantization, got one" +
                         std::string(kNextStep));
  return config;
}

Result<QuantizationConfig> readQuantizationConfig(const std::string &folder) {
  for (std::string_view file : kFiles) {
    std::string path = folder + "/" + std::string(file);
    Result<std::string> text = readTextFile(path, kMaxConfigBytes);
    if (!text && text.status().code() == StatusCode::NotFound)
      continue;
    if (!text)
      return text.status();
    Result<QuantizationConfig> config = parseQuantizationConfig(*text, file);
    if (!config)
      return config.status().withContext("\"" + path + "\"");
    if (!config->method.empty())
      return config;
  }
  return QuantizationConfig();
}

} // namespace mtp
