//===- BlockReader.cpp - Drafters that fill a block -----------------------===//
//
// DFlash (z-lab/dflash's model.py; speculators' dflash) and DSpark
// (deepseek-ai/DeepSpec's modeling/dspark; speculators' dspark; vLLM's
// qwen3_dspark.py). Parts: fc and a norm of the taps, from which each layer
// gets keys and values; layers whose rows see the whole block; a norm and a
// head. DSpark adds a Markov head and a confidence head. DeepSpec's DFlash is
// its DSpark without these two heads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/drafters/DrafterReaders.h"

#include <algorithm>
#include <cmath>

namespace mtp::importer {

namespace {

constexpr int64_t kMostRows = 63, kMostWidth = 1 << 24;
constexpr int64_t kUsualRank = 256;

/// Keys of related methods and of unsupported options. false, 0 or an absent
/// key asks for nothing.
constexpr std::string_view kUnreadKeys[] = {"projector_type",
                                            "lilicorr_enabled",
                                            "conv_kernel_size",
                                            "selector_rank",
                                            "enable_hidden_correction",
                                            "use_swa",
                                            "causal",
                                            "is_causal",
                                            "attention_sink_bias",
                                            "add_swa_attention_sink_bias",
                                            "final_logit_softcapping"};

void refuseKeys(ConfigFields &fields) {
  for (std::string_view key : kUnreadKeys)
    if (!fields.isNeutral(key))
      fields.fail(key, "none, since no drafter with it is read");
  for (const char *key : {"output_multiplier", "input_embedding_scale"})
    if (fields.numberOr(key, 1) != 1)
      fields.fail(key, "1, since no drafter with another is read");
}

/// Returns the taps of z-lab's code: one per layer of the drafter, spaced
/// evenly from the output of layer 1 on.
TapDefaults usualTaps(const DrafterSource &source,
                      const DrafterFolder &drafter) {
  int64_t layers = int64_t(source.target.layers.size());
  int64_t count = int64_t(drafter.layers.layers.size());
  if (isSpeculators(source))
    return {{2, layers / 2, layers - 3}, "2, L / 2 and L - 3"};
  TapDefaults usual{{}, "evenly after layers 1 to L - 3"};
  if (count == 1)
    usual.taps = {layers / 2 + 1};
  for (int64_t i = 0; count > 1 && i < count; ++i) {
    double output = 1 + double(i * (layers - 4)) / double(count - 1);
    usual.taps.push_back(int64_t(std::nearbyint(output)) + 1);
  }
  return usual;
}

/// Reads the block's size and its mask. Newer files of z-lab nest them in an
/// object, which has precedence over the keys around it.
void readSizes(DrafterSource &source, BlockConfig &block, int64_t leastRows) {
  ConfigFields &fields = source.fields;
  std::optional<ConfigFields> inner = fields.child("dflash_config");
  auto integer = [&](const char *key, int64_t least, int64_t most) {
    bool isInner = inner && inner->has(key);
    return (isInner ? *inner : fields).integer(key, least, most);
  };
  block.rows = integer("block_size", leastRows, kMostRows);
  block.mask = int32_t(integer("mask_token_id", 0, source.target.vocab - 1));
  refuseKeys(fields);
  if (inner) {
    refuseKeys(*inner);
    fields.adopt(*inner);
  }
}

/// Sets the token that each row drafts, and the number of rows of a block. If
/// DSpark's rows draft their own positions, the anchor's row is added.
void readLayout(DrafterSource &source, DrafterFolder &drafter) {
  BlockConfig &block = drafter.block;
  bool isDSpark = drafter.method == FolderMethod::DSpark;
  readSizes(source, block, isDSpark ? 1 : 2);
  block.fromAnchor = source.fields.flagOr("sample_from_anchor", isDSpark);
  block.drafts = block.fromAnchor || isDSpark ? block.rows : block.rows - 1;
  drafter.notes.push_back("a block drafts " + std::to_string(block.drafts) +
                          " tokens, each row " +
                          (block.fromAnchor ? "the one after its position"
                                            : "the one at its own position") +
                          " (sample_from_anchor)");
}

Result<std::vector<uint64_t>> shapeOf(const DrafterSource &source,
                                      const std::string &key) {
  MTP_ASSIGN_OR_RETURN(TensorView tensor, source.weights->get(key));
  return std::vector<uint64_t>(tensor.shape.begin(), tensor.shape.end());
}

/// Reads the Markov head: a low-rank matrix that adds logits for the preceding
/// token.
Status readMarkov(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  BlockConfig &block = drafter.block;
  std::string first = drafter.root + "markov_head.markov_w1.weight";
  bool isThere = source.weights ? source.contains(first)
                                : drafter.method == FolderMethod::DSpark;
  block.markovRank =
      fields.integerOr("markov_rank", 0, kMostWidth, isThere ? kUsualRank : 0);
  fields.expectText("markov_head_type", "vanilla");
  for (const char *part : {"gate_proj", "joint_proj"})
    if (source.contains(drafter.root + "markov_head." + part + ".weight"))
      return unimplemented("expected a vanilla Markov head, got one with "
                           "weights \"" +
                           drafter.root + "markov_head." + part + ".weight\"");
  MTP_RETURN_IF_ERROR(fields.status());
  if (!source.weights || block.markovRank == 0)
    return okStatus();
  // Configs may omit the rank.
  MTP_ASSIGN_OR_RETURN(std::vector<uint64_t> shape, shapeOf(source, first));
  if (!fields.has("markov_rank") && shape.size() == 2)
    block.markovRank = int64_t(shape[1]);
  return okStatus();
}

Status readConfidence(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  BlockConfig &block = drafter.block;
  std::string head = drafter.root + "confidence_head.proj.";
  block.hasConfidence = source.weights
                            ? source.contains(head + "weight")
                            : fields.flagOr("enable_confidence_head", false);
  block.hasConfidenceBias =
      source.weights ? source.contains(head + "bias") : true;
  block.confidenceSeesMarkov =
      fields.flagOr("confidence_head_with_markov", true) &&
      block.markovRank > 0;
  if (!fields.flagOr("enable_confidence_head", block.hasConfidence) &&
      block.hasConfidence)
    fields.fail("enable_confidence_head", "true beside \"" + head + "weight\"");
  return fields.status();
}

/// Decides whether the embedding and head are the file's own or the target's.
Status findMatrices(const DrafterSource &source, DrafterFolder &drafter) {
  const std::string &root = drafter.root;
  drafter.eagle.fuse = "fc";
  drafter.eagle.hasFuseBias = source.contains(root + "fc.bias");
  for (size_t i = 0; i < drafter.layers.layers.size(); ++i)
    drafter.layerPrefixes.push_back("layers." + std::to_string(i) + ".");
  if (source.contains(root + "embed_tokens.weight"))
    drafter.embedding = root + "embed_tokens.weight";
  else
    MTP_RETURN_IF_ERROR(
        checkEqual("hidden_size", drafter.layers.hidden, source.target.hidden));
  bool isOwn = source.weights ? source.contains("lm_head.weight")
                              : !drafter.eagle.tokens.empty();
  if (isOwn)
    drafter.head = "lm_head.weight";
  return okStatus();
}

Status checkLayers(const DrafterSource &source, const DrafterFolder &drafter) {
  const std::vector<LayerKind> &layers = drafter.layers.layers;
  if (std::any_of(layers.begin(), layers.end(),
                  [](LayerKind kind) { return kind.window > 0; }))
    return unimplemented("config key \"layer_types\": expected a drafter whose "
                         "layers all see the whole text, got windows");
  if (!drafter.layers.gqa)
    return unimplemented("config key \"model_type\": expected grouped "
                         "attention, got \"" +
                         drafter.layers.family + "\"");
  if (source.fields.has("num_target_layers"))
    return checkEqual("num_target_layers",
                      source.fields.integer("num_target_layers", 1, kMostWidth),
                      int64_t(source.target.layers.size()));
  return okStatus();
}

} // namespace

Status readBlock(DrafterSource &source, DrafterFolder &drafter) {
  drafter.root = source.contains("model.fc.weight") ? "model." : "";
  readLayout(source, drafter);
  MTP_RETURN_IF_ERROR(source.fields.status());
  MTP_RETURN_IF_ERROR(readLayers(source, drafter));
  MTP_RETURN_IF_ERROR(checkCommon(source, drafter));
  MTP_RETURN_IF_ERROR(checkLayers(source, drafter));
  MTP_RETURN_IF_ERROR(readVocabulary(source, drafter));
  MTP_RETURN_IF_ERROR(findMatrices(source, drafter));
  findBiases(source, drafter);
  MTP_RETURN_IF_ERROR(readTaps(source, drafter, usualTaps(source, drafter)));
  MTP_RETURN_IF_ERROR(checkTapWidth(source, drafter));
  MTP_RETURN_IF_ERROR(readMarkov(source, drafter));
  MTP_RETURN_IF_ERROR(readConfidence(source, drafter));
  noteRope(source, drafter);
  return source.fields.status();
}

} // namespace mtp::importer
