//===- GgufNames.cpp - Hugging Face's keys of GGUF tensors ----------------===//

#include "compiler/Weights/GgufNames.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

namespace mtp {

namespace {

using Heads = GgufFamily::Heads;

/// Whole names of tensors outside layers.
constexpr GgufName kGlobals[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
    // Divisors of the rotary frequencies, which the config gives.
    {"rope_freqs.weight", "rope.freqs"},
};

constexpr GgufName kEagle3Globals[] = {
    {"token_embd.weight", "embed_tokens.weight"},
    {"output_norm.weight", "norm.weight"},
    {"output.weight", "lm_head.weight"},
    {"enc.output_norm.weight", "input_norm.weight"},
    {"rope_freqs.weight", "rotary_emb.inv_freq"},
};

constexpr GgufName kDFlashGlobals[] = {
    {"token_embd.weight", "embed_tokens.weight"},
    {"output_norm.weight", "norm.weight"},
    {"output.weight", "lm_head.weight"},
    {"enc.output_norm.weight", "hidden_norm.weight"},
    {"markov_w1.weight", "markov_head.markov_w1.weight"},
    {"markov_w2.weight", "markov_head.markov_w2.weight"},
    {"conf_proj.weight", "confidence_head.proj.weight"},
    {"conf_proj.bias", "confidence_head.proj.bias"},
    {"rope_freqs.weight", "rotary_emb.inv_freq"},
};

/// Names within a layer. A name without a point stands for a name with any
/// extension, which the key keeps.
constexpr GgufName kLeaves[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_k_b", "self_attn.k_b_proj"},
    {"attn_v_b", "self_attn.v_b_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
    {"ffn_up_exps", "mlp.experts.{}.up_proj"},
    {"ffn_down_exps", "mlp.experts.{}.down_proj"},
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

constexpr GgufName kEagle3Names[] = {{"attn_norm_2", "hidden_norm"}};

constexpr GgufName kErnieNames[] = {
    {"exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias"}};

constexpr GgufName kGemmaNames[] = {
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

constexpr GgufName kHy3Names[] = {
    {"ffn_gate_inp", "mlp.router.gate"},
    {"exp_probs_b", "mlp.expert_bias"},
    {"exp_probs_b.bias", "mlp.expert_bias"},
    {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
    {"ffn_down_shexp", "mlp.shared_mlp.down_proj"},
    {"nextn.shared_head_norm", "final_layernorm"},
};

constexpr GgufName kMiniMaxNames[] = {
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"},
    {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
    {"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
    {"ffn_down_exps", "block_sparse_moe.experts.{}.w2"},
};

constexpr GgufName kHybridNames[] = {
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_ba", "linear_attn.in_proj_ba"},
    // Older converters keep the projection whole.
    {"ssm_in", "linear_attn.in_proj_qkvz"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_a", "linear_attn.A_log"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    // A module has these names under a prefix of its own.
    {"nextn.eh_proj", "fc"},
    {"nextn.enorm", "pre_fc_norm_embedding"},
    {"nextn.hnorm", "pre_fc_norm_hidden"},
    {"nextn.shared_head_norm", "norm"},
};

constexpr GgufFamily kFamilies[] = {
    {"deepseek2", "deepseek_v3"},
    {"dots1", "dots1"},
    {"ernie4_5", "ernie4_5"},
    {"ernie4_5-moe", "ernie4_5_moe", false, kErnieNames},
    {"gemma3", "gemma3_text", false, kGemmaNames},
    {"glm4moe", "glm4_moe"},
    {"hy_v3", "hy_v3", false, kHy3Names},
    {"llama", "llama", /*pairsRows=*/true},
    {"minimax-m2", "minimax_m2", false, kMiniMaxNames},
    {"mistral3", "ministral3", /*pairsRows=*/true},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"qwen35", "qwen3_5_text", false, kHybridNames, {}, Heads::Tiled},
    {"qwen35moe", "qwen3_5_moe_text", false, kHybridNames, {}, Heads::Tiled},
    {"qwen3moe", "qwen3_moe"},
    {"qwen3next", "qwen3_next", false, kHybridNames, {}, Heads::ByKeyHead},
    {"seed_oss", "seed_oss"},
    {"dflash",
     "qwen3",
     false,
     {},
     kDFlashGlobals,
     Heads::None,
     /*isDrafter=*/true},
    {"eagle3", "llama", /*pairsRows=*/true, kEagle3Names, kEagle3Globals,
     Heads::None, /*isDrafter=*/true},
};

/// Two stored tensors of a layer, by the ends of their keys, and their tensor
/// in Hugging Face's folders.
struct Pair {
  std::string_view first, second, joined;
};
/// The second one is for families with projections by key head.
constexpr Pair kKeyAndValue = {"self_attn.k_b_proj.weight",
                               "self_attn.v_b_proj.weight",
                               "self_attn.kv_b_proj.weight"};
constexpr Pair kQkvAndGate = {"linear_attn.in_proj_qkv.weight",
                              "linear_attn.in_proj_z.weight",
                              "linear_attn.in_proj_qkvz.weight"};

constexpr std::string_view kLayer = "blk.";
/// The extension of a factor of the weight with an equal name.
constexpr std::string_view kFactor = ".scale", kWeight = ".weight";

/// Returns the key for a name in a table; empty if there is none.
std::string_view find(std::span<const GgufName> names, std::string_view name) {
  auto found = std::ranges::find(names, name, &GgufName::gguf);
  return found == names.end() ? std::string_view() : found->key;
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

/// Adds an entry for each matrix of a stack, or for each of their factors. The
/// entries are `rows` rows of each matrix, from `begin` on; with 0 rows they
/// are whole matrices. `key` has "{}" in place of a matrix's number. `most`
/// limits the number of entries.
Status addStack(const TensorEntry &stack, const std::string &key, int64_t begin,
                int64_t rows, uint64_t most, TensorMap &tensors) {
  bool isFactor = key.ends_with(kFactor);
  if (stack.shape.size() != (isFactor ? 1 : 3))
    return invalidArgument("expected a stack, got " +
                           std::to_string(stack.shape.size()) + " dimensions");
  int64_t count = stack.shape[0];
  if (count < 1 || uint64_t(count) > most ||
      tensors.size() + uint64_t(count) > most)
    return outOfRange("expected at most " + std::to_string(most) +
                      " matrices of all experts, got a stack of " +
                      std::to_string(count));
  TensorEntry entry{stack.type, {}};
  entry.shape.assign(stack.shape.begin() + 1, stack.shape.end());
  uint64_t pitch = stack.size / uint64_t(count), shift = 0;
  entry.size = pitch;
  if (rows > 0) {
    uint64_t row = pitch / uint64_t(entry.shape[0]);
    shift = row * uint64_t(begin);
    entry.size = row * uint64_t(rows);
    entry.shape[0] = rows;
  }
  size_t at = key.find("{}");
  for (int64_t i = 0; i < count; ++i) {
    entry.offset = stack.offset + uint64_t(i) * pitch + shift;
    tensors.emplace(key.substr(0, at) + std::to_string(i) + key.substr(at + 2),
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

/// Reads a width or a number of heads.
Result<int64_t> readSize(const GgufHeader &header, const std::string &key) {
  constexpr int64_t kMost = int64_t(1) << 24;
  std::optional<int64_t> value = header.integer(key);
  if (!value || *value < 1 || *value > kMost)
    return invalidArgument("key " + inQuotes(key) + ": expected 1 to " +
                           std::to_string(kMost) + ", got " +
                           (value ? std::to_string(*value) : "nothing"));
  return *value;
}

Status expectRows(std::span<const int64_t> shape, int64_t rows) {
  if (!shape.empty() && shape[0] == rows)
    return okStatus();
  return invalidArgument("expected " + std::to_string(rows) +
                         " rows by the file's keys, got shape " +
                         formatShape(shape));
}

} // namespace

/// A name such as "blk.3.attn_q.weight" in its parts.
struct GgufNames::LayerName {
  std::string prefix;               ///< "model.layers.3."
  std::string_view leaf, extension; ///< "attn_q" and ".weight".

  bool isAny(std::initializer_list<std::string_view> names) const {
    return std::ranges::find(names, leaf) != names.end();
  }
};

std::optional<GgufNames::LayerName>
GgufNames::parseLayer(std::string_view name) const {
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
  LayerName layer{{}, leaf.substr(0, point), leaf.substr(point)};
  std::string text = std::to_string(number);
  bool isModule = family.heads != Heads::None && int64_t(number) >= layers;
  if (isModule && int64_t(number) == layers && leaf.starts_with("nextn."))
    layer.prefix = "mtp.";
  else if (isModule)
    layer.prefix = "mtp.layers." + std::to_string(number - layers) + ".";
  else if (!family.isDrafter)
    layer.prefix = "model.layers." + text + ".";
  else if (family.architecture == "eagle3" && number == 0)
    layer.prefix = "midlayer.";
  else
    layer.prefix = "layers." + text + ".";
  return layer;
}

std::string GgufNames::keyOf(const LayerName &layer) const {
  std::string whole = std::string(layer.leaf) + std::string(layer.extension);
  for (std::span<const GgufName> names :
       {family.names, std::span<const GgufName>(kLeaves)}) {
    if (std::string_view key = find(names, whole); !key.empty())
      return layer.prefix + std::string(key);
    if (std::string_view key = find(names, layer.leaf); !key.empty())
      return layer.prefix + std::string(key) + std::string(layer.extension);
  }
  return layer.prefix + whole;
}

Result<GgufFamily> findGgufFamily(const GgufHeader &header) {
  std::string_view name = header.text("general.architecture");
  std::string known;
  for (const GgufFamily &family : kFamilies) {
    if (family.architecture == name)
      return family;
    if (family.isDrafter)
      continue;
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
  std::string prefix = std::string(names.family.architecture) + ".";
  std::string attention = prefix + "attention.";
  MTP_ASSIGN_OR_RETURN(names.heads,
                       readHeads(header, attention + "head_count", 1));
  MTP_ASSIGN_OR_RETURN(
      names.kvHeads,
      readHeads(header, attention + "head_count_kv", names.heads));
  names.headDim =
      header.integer(attention + "key_length")
          .value_or(header.integer(prefix + "embedding_length").value_or(0) /
                    names.heads);
  if (names.family.heads != Heads::None)
    MTP_RETURN_IF_ERROR(names.readRecurrence(header));
  return names;
}

Status GgufNames::readRecurrence(const GgufHeader &header) {
  std::string prefix = std::string(family.architecture) + ".";
  MTP_ASSIGN_OR_RETURN(layers, readSize(header, prefix + "block_count"));
  int64_t modules = header.integer(prefix + "nextn_predict_layers").value_or(0);
  if (modules < 0 || modules >= layers)
    return invalidArgument("key \"" + prefix +
                           "nextn_predict_layers\": expected less than "
                           "\"block_count\"");
  layers -= modules;
  MTP_ASSIGN_OR_RETURN(keyHeads, readSize(header, prefix + "ssm.group_count"));
  MTP_ASSIGN_OR_RETURN(valueHeads,
                       readSize(header, prefix + "ssm.time_step_rank"));
  MTP_ASSIGN_OR_RETURN(keys, readSize(header, prefix + "ssm.state_size"));
  MTP_ASSIGN_OR_RETURN(int64_t inner,
                       readSize(header, prefix + "ssm.inner_size"));
  if (valueHeads % keyHeads != 0 || inner % valueHeads != 0)
    return invalidArgument(
        "key \"" + prefix +
        "ssm.time_step_rank\": expected a multiple of \"ssm.group_count\" "
        "and a divisor of \"ssm.inner_size\", got " +
        std::to_string(valueHeads));
  values = inner / valueHeads;
  return okStatus();
}

Status GgufNames::orderHeads(const LayerName &layer, TensorEntry &entry) const {
  bool isQ = layer.leaf == "attn_q", isK = layer.leaf == "attn_k";
  if (family.pairsRows && (isQ || isK) && layer.extension != kFactor) {
    int64_t of = isQ ? heads : kvHeads, rows = entry.shape.front();
    if (rows % of != 0 || rows / of % 2 != 0)
      return invalidArgument("expected an even number of rows for each of " +
                             std::to_string(of) + " heads, got " +
                             std::to_string(rows));
    entry.pairedRows = rows / of;
  }
  if (family.heads != Heads::Tiled || keyHeads == valueHeads ||
      layer.extension == kFactor)
    return okStatus();
  TiledHeads tiled{0, values, keyHeads, valueHeads / keyHeads};
  if (layer.leaf == "ssm_out") {
    if (entry.shape.back() != valueHeads * values)
      return invalidArgument("expected " + std::to_string(valueHeads * values) +
                             " columns by the file's keys, got shape " +
                             formatShape(entry.shape));
    entry.tiledColumns = tiled;
    return okStatus();
  }
  if (layer.isAny({"attn_qkv", "ssm_conv1d"}))
    tiled.first = 2 * keyHeads * keys;
  else if (layer.isAny({"ssm_alpha", "ssm_beta", "ssm_a", "ssm_dt"}))
    tiled.width = 1;
  else if (layer.leaf != "attn_gate")
    return okStatus();
  MTP_RETURN_IF_ERROR(
      expectRows(entry.shape, tiled.first + valueHeads * tiled.width));
  entry.tiledRows = tiled;
  return okStatus();
}

/// Adds the three projections of attention that a file stores as one.
Status GgufNames::addFused(const TensorEntry &entry, const LayerName &layer,
                           TensorMap &tensors) const {
  constexpr std::string_view kParts[] = {"attn_q", "attn_k", "attn_v"};
  int64_t counts[] = {heads, kvHeads, kvHeads};
  // The number of rows is not negative, so no row has more than all bytes.
  int64_t rows = 0;
  for (int64_t count : counts)
    if (headDim < 1 || __builtin_mul_overflow(count, headDim, &count) ||
        __builtin_add_overflow(rows, count, &rows))
      return invalidArgument("expected a width of heads in the file's keys");
  MTP_RETURN_IF_ERROR(expectRows(entry.shape, rows));
  uint64_t row = entry.size / uint64_t(rows);
  TensorEntry part = entry;
  for (size_t i = 0; i < std::size(kParts); ++i) {
    part.shape[0] = counts[i] * headDim;
    part.size = row * uint64_t(part.shape[0]);
    LayerName name{layer.prefix, kParts[i], layer.extension};
    part.pairedRows = 0;
    MTP_RETURN_IF_ERROR(orderHeads(name, part));
    tensors.emplace(keyOf(name), part);
    part.offset += part.size;
  }
  return okStatus();
}

/// Adds the experts' gates and ups that a file stores in one stack.
Status GgufNames::addGatesAndUps(const TensorEntry &entry,
                                 const LayerName &layer, uint64_t most,
                                 TensorMap &tensors) const {
  int64_t half = 0;
  if (layer.extension != kFactor) {
    if (entry.shape.size() != 3 || entry.shape[1] < 2 || entry.shape[1] % 2)
      return invalidArgument("expected a stack of gates and ups, got shape " +
                             formatShape(entry.shape));
    half = entry.shape[1] / 2;
  }
  LayerName gate{layer.prefix, "ffn_gate_exps", layer.extension};
  LayerName up{layer.prefix, "ffn_up_exps", layer.extension};
  MTP_RETURN_IF_ERROR(addStack(entry, keyOf(gate), 0, half, most, tensors));
  return addStack(entry, keyOf(up), half, half, most, tensors);
}

Status GgufNames::addTensor(const GgufTensor &tensor, uint64_t most,
                            TensorMap &tensors) const {
  TensorEntry entry{tensor.type, tensor.shape, tensor.offset, tensor.size};
  std::optional<LayerName> layer = parseLayer(tensor.name);
  auto add = [&](const std::string &key) -> Status {
    if (!tensors.emplace(key, entry).second)
      return invalidArgument("expected one tensor for " + inQuotes(key) +
                             ", got two");
    return okStatus();
  };
  if (!layer) {
    std::span<const GgufName> names = kGlobals;
    if (family.isDrafter)
      names = family.globals;
    std::string_view key = find(names, tensor.name);
    return add(std::string(key.empty() ? tensor.name : key));
  }
  if (layer->leaf == "attn_qkv" && family.heads == Heads::None)
    return addFused(entry, *layer, tensors);
  if (layer->leaf == "ffn_gate_up_exps")
    return addGatesAndUps(entry, *layer, most, tensors);
  std::string key = keyOf(*layer);
  if (layer->isAny({"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}))
    return addStack(entry, key, 0, 0, most, tensors);
  MTP_RETURN_IF_ERROR(orderHeads(*layer, entry));
  // The shared expert's gate is a matrix of one row.
  if (layer->leaf == "ffn_gate_inp_shexp" && entry.shape.size() == 1)
    entry.shape.insert(entry.shape.begin(), 1);
  return add(key);
}

std::optional<GgufPair> GgufNames::findPair(std::string_view key) const {
  const Pair &pair =
      family.heads == Heads::ByKeyHead ? kQkvAndGate : kKeyAndValue;
  for (std::string_view end : {pair.first, pair.second})
    if (key.ends_with(end)) {
      std::string front(key.substr(0, key.size() - end.size()));
      return GgufPair{front + std::string(pair.first),
                      front + std::string(pair.second),
                      front + std::string(pair.joined)};
    }
  return std::nullopt;
}

Result<TensorJoin> GgufNames::join(const GgufPair &pair,
                                   std::span<const int64_t> first,
                                   std::span<const int64_t> second) const {
  auto fail = [&](const std::string &expected) {
    return invalidArgument("expected " + expected + " to join with " +
                           inQuotes(pair.second) + " of shape " +
                           formatShape(second) + ", got shape " +
                           formatShape(first));
  };
  TensorJoin join;
  if (family.heads == Heads::ByKeyHead) {
    int64_t inner = valueHeads * values, keyRows = keyHeads * keys;
    if (first.size() != 2 || second.size() != 2 || first[1] != second[1] ||
        first[0] != 2 * keyRows + inner || second[0] != inner)
      return fail("a matrix of " + std::to_string(2 * keyRows + inner) +
                  " rows");
    int64_t of = inner / keyHeads;
    join.runs = {
        {keys, 0, 0}, {keys, keyRows, 0}, {of, 2 * keyRows, 0}, {of, 0, 1}};
    join.shape = {first[0] + second[0], first[1]};
    return join;
  }
  auto isPositive = [](int64_t extent) { return extent > 0; };
  if (first.size() != 3 || second.size() != 3 || first[0] != second[0] ||
      first[1] != second[2] || !std::ranges::all_of(first, isPositive) ||
      !std::ranges::all_of(second, isPositive))
    return fail("a transposed matrix for each head");
  join.isTransposed = true;
  join.runs = {{first[2], 0, 0}, {second[1], 0, 1}};
  join.shape = {first[0] * (first[2] + second[1]), first[1]};
  return join;
}

Result<TensorMap> GgufNames::translate(const GgufHeader &header,
                                       std::span<const uint8_t> bytes) const {
  // A stack of empty matrices could have any number of entries. An entry takes
  // less than 1 KiB of memory. The limit keeps all entries but a few within the
  // size of the file.
  constexpr uint64_t kFewEntries = 256, kMostEntries = 1 << 17;
  uint64_t most = std::min(kMostEntries, kFewEntries + bytes.size() / 1024);
  TensorMap tensors;
  for (const GgufTensor &tensor : header.tensors) {
    // A factor of activations, which are not quantised by it here.
    if (tensor.name.ends_with(".input_scale"))
      continue;
    MTP_RETURN_IF_ERROR(addTensor(tensor, most, tensors)
                            .withContext("tensor " + inQuotes(tensor.name)));
  }
  MTP_RETURN_IF_ERROR(attachFactors(bytes, tensors));
  return tensors;
}

} // namespace mtp
