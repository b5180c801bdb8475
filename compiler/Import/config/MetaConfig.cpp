//===- MetaConfig.cpp - The params.json of Meta's checkpoints -------------===//
//
// Reads Llama's own format, in which facebook/multi-token-prediction is
// published.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/MetaConfig.h"

#include <cmath>

namespace mtp::importer {

namespace {

constexpr int64_t kMostNumber = int64_t(1) << 24, kMostLayers = 1024;
/// Llama 2's context, which the file does not contain.
constexpr int64_t kPositions = 4096, kMostPositions = int64_t(1) << 22;
constexpr int32_t kBos = 1, kEos = 2;

constexpr KeyName kMetaNames[] = {
    {"self_attn.q_proj", "attention.wq"},
    {"self_attn.k_proj", "attention.wk"},
    {"self_attn.v_proj", "attention.wv"},
    {"self_attn.o_proj", "attention.wo"},
    {"input_layernorm", "attention_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "feed_forward.w1"},
    {"mlp.up_proj", "feed_forward.w3"},
    {"mlp.down_proj", "feed_forward.w2"},
};

} // namespace

bool isMetaConfig(const ConfigFields &fields) {
  return fields.has("dim") && fields.has("n_heads") &&
         !fields.has("model_type");
}

int64_t readMetaWidth(ConfigFields &fields, int64_t dim) {
  if (fields.has("hidden_dim"))
    return fields.integer("hidden_dim", 1, kMostNumber);
  double factor = fields.positiveOr("ffn_dim_multiplier", 1.0);
  int64_t multiple = fields.integerOr("multiple_of", 1, kMostNumber, 256);
  double width = std::floor(factor * double(int64_t(8.0 * double(dim) / 3.0)));
  if (!(width >= 1 && width <= double(kMostNumber))) {
    fields.fail("ffn_dim_multiplier", "a width of the feed-forward part of 1 "
                                      "to 16777216 by it");
    return 1;
  }
  return (int64_t(width) + multiple - 1) / multiple * multiple;
}

void readMetaLayers(ConfigFields &fields, ModelConfig &layers) {
  layers.names = kMetaNames;
  layers.normEps = fields.positiveOr("norm_eps", 1e-5);
  layers.heads = fields.integer("n_heads", 1, kMostNumber);
  GqaConfig gqa;
  gqa.kvHeads = fields.integerOr("n_kv_heads", 1, kMostNumber, layers.heads);
  if (!fields.status().isOk())
    return;
  if (layers.hidden % layers.heads != 0)
    return fields.fail("n_heads",
                       "a divisor of \"dim\" " + std::to_string(layers.hidden));
  if (layers.heads % gqa.kvHeads != 0)
    return fields.fail("n_kv_heads", "a divisor of \"n_heads\" " +
                                         std::to_string(layers.heads));
  gqa.headDim = layers.hidden / layers.heads;
  layers.gqa = gqa;
  layers.rope.dim = gqa.headDim;
  layers.rope.theta = fields.positiveOr("rope_theta", 10000.0);
  // Neighbours rotate, as in Llama's own code.
  layers.rope.isInterleaved = true;
  fields.expectFlag("use_scaled_rope", false);
  // Other authors' params.json has similar keys.
  if (fields.integerOr("head_dim", 1, kMostNumber, gqa.headDim) != gqa.headDim)
    fields.fail("head_dim",
                "\"dim\" / \"n_heads\", " + std::to_string(gqa.headDim));
  for (const char *key : {"sliding_window", "yarn", "rope_scaling", "moe"})
    if (!fields.isNeutral(key))
      fields.fail(key, "no such key in Llama's own format");
}

Status readMetaModel(ConfigFields &fields, ModelConfig &config) {
  config.family = "llama";
  config.layouts = {KeyLayout{"", "output.weight", "tok_embeddings.weight"}};
  config.hidden = fields.integer("dim", 1, kMostNumber);
  // -1 means the tokenizer's size.
  if (fields.integer("vocab_size", -1, kMostNumber) < 1)
    fields.fail("vocab_size", "the rows of \"tok_embeddings.weight\"");
  config.vocab = fields.integerOr("vocab_size", 1, kMostNumber, 1);
  MTP_RETURN_IF_ERROR(fields.status());
  readMetaLayers(fields, config);
  config.intermediate = readMetaWidth(fields, config.hidden);
  // The heads after the first are layers, and counted with the others.
  int64_t heads = fields.integerOr("n_future_tokens", 1, 17, 1) - 1;
  int64_t layers = fields.integer("n_layers", heads + 1, kMostLayers) - heads;
  config.positionsKey = "max_seq_len";
  config.maxPositions =
      fields.integerOr(config.positionsKey, 2, kMostPositions, kPositions);
  MTP_RETURN_IF_ERROR(fields.status());
  config.layers.resize(size_t(layers));
  config.hasHeads = heads > 0;
  config.generation.bos = kBos;
  config.generation.eos = {kEos};
  return okStatus();
}

} // namespace mtp::importer
