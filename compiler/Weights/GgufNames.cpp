//===- GgufNames.cpp - Hugging Face's keys of GGUF tensors ----------------===//

#include "compiler/Weights/GgufNames.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

namespace mtp {

namespace {

constexpr GgufFamily kFamilies[] = {
    {"llama", "llama", /*pairsRows=*/true},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"qwen3moe", "qwen3_moe"},
    {"glm4moe", "glm4_moe"},
};

struct Name {
  std::string_view gguf, key;
};

/// Whole names of tensors outside layers.
constexpr Name kGlobals[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
    // Divisors of the rotary frequencies, which the config gives.
    {"rope_freqs.weight", "rope.freqs"},
};

/// Names within a layer, without the part after the last point.
constexpr Name kLeaves[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"nextn.eh_proj", "eh_proj"},
    {"nextn.enorm", "enorm"},
    {"nextn.hnorm", "hnorm"},
    {"nextn.embed_tokens", "embed_tokens"},
    {"nextn.shared_head_head", "shared_head.head"},
    {"nextn.shared_head_norm", "shared_head.norm"},
};

/// A name within a layer whose last part differs, too.
constexpr Name kScoreBias = {"exp_probs_b.bias",
                             "mlp.gate.e_score_correction_bias"};

/// Stacks of a layer's experts.
constexpr Name kExperts[] = {
    {"ffn_gate_exps", "gate_proj"},
    {"ffn_up_exps", "up_proj"},
    {"ffn_down_exps", "down_proj"},
};

constexpr std::string_view kLayer = "blk.";
/// The extension of a factor of the weight with an equal name.
constexpr std::string_view kFactor = ".scale", kWeight = ".weight";

/// Returns the key for a name in a table; empty if there is none.
std::string_view find(std::span<const Name> names, std::string_view name) {
  auto found = std::ranges::find(names, name, &Name::gguf);
  return found == names.end() ? std::string_view() : found->key;
}

/// A name such as "blk.3.attn_q.weight" in its parts.
struct LayerName {
  std::string prefix;               ///< "model.layers.3."
  std::string_view leaf, extension; ///< "attn_q" and ".weight".
};

std::optional<LayerName> parseLayer(std::string_view name) {
  if (!name.starts_with(kLayer))
    return std::nullopt;
  const char *begin = name.data() + kLayer.size();
  const char *end = name.data() + name.size();
  uint32_t number = 0;
  auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest == end || *rest != '.')
    return std::nullopt;
  std::string_view leaf(rest + 1, size_t(end - rest - 1));
  size_t point = std::min(leaf.rfind('.'), leaf.size());
  return LayerName{"model.layers." + std::to_string(number) + ".",
                   leaf.substr(0, point), leaf.substr(point)};
}

std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// Reads a number of heads. A list must have equal elements.
Result<int64_t> readHeads(const GgufHeader &header, const std::string &key,
                          int64_t absent) {
  const GgufValue *value = header.find(key);
  if (!value)
    return absent;
  std::optional<std::vector<int64_t>> numbers;
  if (value->size() <= kMostLayerValues)
    numbers = value->integers();
  bool isOne = numbers && !numbers->empty() && numbers->front() > 0 &&
               std::ranges::count(*numbers, numbers->front()) ==
                   std::ptrdiff_t(numbers->size());
  if (!isOne)
    return unimplemented("key " + inQuotes(key) +
                         ": expected one number above 0 for all layers");
  return numbers->front();
}

/// Adds an entry for each matrix of a stack, or for each of their factors.
Status addStack(const GgufTensor &tensor, const LayerName &layer,
                std::string_view key, TensorMap &tensors) {
  bool isFactor = layer.extension == kFactor;
  if (tensor.shape.size() != (isFactor ? 1 : 3))
    return invalidArgument("expected a stack, got " +
                           std::to_string(tensor.shape.size()) + " dimensions");
  int64_t count = tensor.shape[0];
  // A limit prevents a huge stack of empty matrices.
  constexpr uint64_t kMostTensors = 1 << 17;
  if (count < 1 || uint64_t(count) > kMostTensors ||
      tensors.size() + uint64_t(count) > kMostTensors)
    return outOfRange("expected at most " + std::to_string(kMostTensors) +
                      " matrices of all experts, got a stack of " +
                      std::to_string(count));
  TensorEntry entry{tensor.type, {}};
  entry.shape.assign(tensor.shape.begin() + 1, tensor.shape.end());
  entry.size = tensor.size / uint64_t(count);
  for (int64_t i = 0; i < count; ++i) {
    entry.offset = tensor.offset + uint64_t(i) * entry.size;
    tensors.emplace(layer.prefix + "mlp.experts." + std::to_string(i) + "." +
                        std::string(key) + std::string(layer.extension),
                    entry);
  }
  return okStatus();
}

/// Removes factors from `tensors` and gives them to their weights.
Status attachFactors(std::span<const uint8_t> bytes, TensorMap &tensors) {
  for (auto it = tensors.begin(); it != tensors.end();) {
    const auto &[key, factor] = *it;
    std::string_view stem = key;
    if (!stem.ends_with(kFactor)) {
      ++it;
      continue;
    }
    stem.remove_suffix(kFactor.size());
    auto weight = tensors.find(std::string(stem) + std::string(kWeight));
    if (weight == tensors.end() || factor.type != WeightType::F32 ||
        factor.size != sizeof(float))
      return invalidArgument("expected " + inQuotes(key) +
                             " to be one F32 number for a weight");
    std::memcpy(&weight->second.factor, bytes.data() + factor.offset,
                sizeof(float));
    it = tensors.erase(it);
  }
  return okStatus();
}

} // namespace

Result<GgufFamily> findGgufFamily(const GgufHeader &header) {
  std::string_view name = header.text("general.architecture");
  std::string known;
  for (const GgufFamily &family : kFamilies) {
    if (family.architecture == name)
      return family;
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return unimplemented("key \"general.architecture\": expected one of " +
                       known + ", got " +
                       (name.empty() ? "none" : inQuotes(name)));
}

Result<GgufNames> GgufNames::read(const GgufHeader &header,
                                  const std::optional<GgufNames> &previous) {
  int64_t count = header.integer("split.count").value_or(1);
  int64_t number = header.integer("split.no").value_or(0);
  if (count < 1 || number < 0 || number >= count)
    return invalidArgument("key \"split.no\": expected a number below " +
                           std::to_string(count) + ", got " +
                           std::to_string(number));
  if (number > 0) {
    if (!previous || previous->shards != count || previous->shard + 1 != number)
      return invalidArgument("expected file " + std::to_string(number) +
                             " of " + std::to_string(count) +
                             " (\"split.no\") after the file before it");
    GgufNames names = *previous;
    names.shard = number;
    return names;
  }
  GgufNames names;
  names.shards = count;
  MTP_ASSIGN_OR_RETURN(names.family, findGgufFamily(header));
  std::string prefix(names.family.architecture);
  prefix += ".attention.head_count";
  MTP_ASSIGN_OR_RETURN(names.heads, readHeads(header, prefix, 1));
  MTP_ASSIGN_OR_RETURN(names.kvHeads,
                       readHeads(header, prefix + "_kv", names.heads));
  return names;
}

Status GgufNames::addTensor(const GgufTensor &tensor,
                            TensorMap &tensors) const {
  TensorEntry entry{tensor.type, tensor.shape, tensor.offset, tensor.size};
  std::optional<LayerName> layer = parseLayer(tensor.name);
  if (!layer) {
    std::string_view key = find(kGlobals, tensor.name);
    tensors.emplace(key.empty() ? tensor.name : key, entry);
    return okStatus();
  }
  if (std::string_view key = find(kExperts, layer->leaf); !key.empty())
    return addStack(tensor, *layer, key, tensors);
  bool isQ = layer->leaf == "attn_q", isK = layer->leaf == "attn_k";
  if (family.pairsRows && (isQ || isK) && layer->extension != kFactor) {
    int64_t of = isQ ? heads : kvHeads, rows = tensor.shape.front();
    if (rows % of != 0 || rows / of % 2 != 0)
      return invalidArgument("expected an even number of rows for each of " +
                             std::to_string(of) + " heads, got " +
                             std::to_string(rows));
    entry.pairedRows = rows / of;
  }
  std::string_view own = find(kLeaves, layer->leaf);
  std::string key = layer->prefix +
                    std::string(own.empty() ? layer->leaf : own) +
                    std::string(layer->extension);
  if (tensor.name.ends_with("." + std::string(kScoreBias.gguf)))
    key = layer->prefix + std::string(kScoreBias.key);
  if (!tensors.emplace(key, entry).second)
    return invalidArgument("expected one tensor for " + inQuotes(key) +
                           ", got two");
  return okStatus();
}

Result<TensorMap> GgufNames::translate(const GgufHeader &header,
                                       std::span<const uint8_t> bytes) const {
  TensorMap tensors;
  for (const GgufTensor &tensor : header.tensors) {
    // A factor of activations, which are not quantised by it here.
    if (tensor.name.ends_with(".input_scale"))
      continue;
    MTP_RETURN_IF_ERROR(addTensor(tensor, tensors)
                            .withContext("tensor " + inQuotes(tensor.name)));
  }
  MTP_RETURN_IF_ERROR(attachFactors(bytes, tensors));
  return tensors;
}

} // namespace mtp
