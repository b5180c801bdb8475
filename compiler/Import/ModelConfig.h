//===- ModelConfig.h - What a checkpoint's config says ----------*- C++ -*-===//
//
// One description for all supported families, with every default filled in and
// every dimension checked. Nothing after the reader looks at JSON.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_MODELCONFIG_H
#define MTP_COMPILER_IMPORT_MODELCONFIG_H

#include "compiler/Weights/WeightType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

enum class RopeScalingKind { None, Linear, Llama3, Yarn };

/// Rotary position embedding; fields of other scalings stay at their defaults.
struct RopeConfig {
  int64_t dim = 0;
  double theta = 10000.0;
  bool isInterleaved = false;
  RopeScalingKind scaling = RopeScalingKind::None;
  double factor = 1.0;
  double lowFreqFactor = 1.0, highFreqFactor = 4.0; ///< llama3
  double betaFast = 32.0, betaSlow = 1.0;           ///< yarn
  /// yarn: multiplies cosines and sines.
  double attentionFactor = 1.0;
  int64_t originalMaxPosition = 0;
  bool truncate = true;
  /// linear and yarn: the original positions times the factor, which the model
  /// was made for, whatever its config's limit says. 0: other scalings.
  int64_t scaledPositions = 0;
  /// What the scaling asks to multiply the attention's scale by.
  double scaleFactor = 1.0;
};

/// Attention with grouped key and value heads.
struct GqaConfig {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  bool hasQkvBias = false, hasOutputBias = false;
  bool hasQkNorm = false;
  /// A gate for each column of the result stands behind each head's queries in
  /// one projection.
  bool hasOutputGate = false;
  /// The norms of queries and keys are of all heads together.
  bool isQkNormWhole = false;
};

/// A gated delta rule (arXiv:2412.06464) behind a causal convolution.
struct RecurrenceConfig {
  int64_t heads = 0, keyHeads = 0; ///< The former are a multiple.
  int64_t keys = 0, values = 0;    ///< Of one head.
  int64_t window = 0;              ///< Rows that the convolution sees.
  /// Projections are stored by key head: q, k, v, z and b, a of each.
  bool isByKeyHead = false;

  int64_t keyColumns() const { return keyHeads * keys; }
  int64_t valueColumns() const { return heads * values; }
  int64_t columns() const { return 2 * keyColumns() + valueColumns(); }
};

/// Multi-head latent attention.
struct MlaConfig {
  int64_t queryRank = 0; ///< 0: queries are projected at once.
  int64_t latent = 0;
  int64_t nope = 0, rope = 0, value = 0;
};

/// The keys of a mixture of experts' weights, behind a layer's prefix.
struct ExpertKeys {
  std::string_view router = "mlp.gate.weight";
  std::string_view bias = "mlp.gate.e_score_correction_bias";
  std::string_view shared = "mlp.shared_experts.";
  std::string_view sharedGate = "mlp.shared_expert_gate.weight";
  /// Of one expert, whose number "{}" is; then its projections.
  std::string_view expert = "mlp.experts.{}.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  /// Of all experts in one tensor each: gate over up, and down.
  std::string_view stackedGateUp = "mlp.experts.gate_up_proj";
  std::string_view stackedDown = "mlp.experts.down_proj";
};

struct MoeConfig {
  int64_t experts = 0;
  int64_t topK = 0;
  int64_t width = 0;          ///< Of one expert.
  int64_t sharedWidth = 0;    ///< Of all shared experts together; 0: none.
  bool mayBeStacked = false;  ///< Checkpoints have one of two layouts.
  bool hasSharedGate = false; ///< One logistic gate of the shared experts.
  bool isSigmoid = false;     ///< Otherwise softmax.
  bool hasBias = false;       ///< Added to scores for the choice alone.
  int64_t groups = 1, keptGroups = 1;
  bool isNormalized = false;
  double scale = 1.0;
  ExpertKeys keys;
};

/// How a family wires its MTP modules.
enum class DrafterStyle {
  None,     ///< The family has no modules.
  DeepSeek, ///< eh_proj [e, h]
  Hy3,      ///< As DeepSeek's, with another name of the final norm.
  MiMo,     ///< input_proj [h, e]
  Qwen,     ///< fc [e, h], in front of all layers' keys; nothing is masked.
};

/// Keys of a module's own matrices behind its prefix; empty where it has the
/// model's.
struct OwnTables {
  std::string embedding, head;

  bool operator==(const OwnTables &) const = default;
};

struct DrafterConfig {
  DrafterStyle style = DrafterStyle::None;
  int64_t modules = 0;
  /// The config's key of the number of modules, for messages.
  std::string_view key = "num_nextn_predict_layers";
  /// The config does not say how many; `modules` is 0 then. A checkpoint may
  /// have one all the same.
  bool isUnsaid = false;
  /// The hidden state handed on is the one after the module's final norm.
  bool carriesNormed = true;
  /// The config says that modules have an embedding of their own.
  bool ownsEmbedding = false;
  /// Prefix of the keys of Qwen's modules.
  std::string root = "mtp.";
  /// One element for each module that drafts, filled from the weights.
  std::vector<OwnTables> own;
};

/// The keys of what is not in a layer.
struct KeyLayout {
  std::string trunk = "model."; ///< Before the layers, embedding and norm.
  std::string head = "lm_head.weight";
  std::string table = "embed_tokens.weight"; ///< Behind the trunk.

  std::string embedding() const { return trunk + table; }
};

/// What a family calls a part of a layer that others call `usual`.
struct KeyName {
  std::string_view usual, own;
};

/// The kinds of a layer; layers of one kind share a function.
struct LayerKind {
  bool isMoe = false;
  bool isRecurrent = false; ///< In place of attention.
  /// The experts are in one tensor each.
  bool isStacked = false;
  int64_t window = 0; ///< 0: sees all earlier positions.

  bool operator==(const LayerKind &) const = default;
};

/// Defaults of sampling, from generation_config.json. Absent: not said.
struct GenerationConfig {
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  std::optional<double> temperature, topP, minP;
  std::optional<int64_t> topK;
  /// Warnings about recommended settings that are not applied.
  std::vector<std::string> warnings;
};

struct ModelConfig {
  std::string family; ///< model_type, of the text model's config.
  /// The file that was read, and its key of `maxPositions`, for messages.
  std::string file = "config.json";
  std::string_view positionsKey = "max_position_embeddings";
  /// Where the weights stand. More than one if the text model is part of
  /// another one, whose checkpoints differ: the first that is there is meant.
  std::vector<KeyLayout> layouts = {KeyLayout()};
  int64_t vocab = 0, hidden = 0;
  int64_t heads = 0;
  int64_t intermediate = 0; ///< Of dense layers.
  int64_t maxPositions = 0;
  /// From this position on the model scales its queries by their position,
  /// which no op does. 0: it never does.
  int64_t plainPositions = 0;
  double normEps = 0.0;
  /// Norms multiply by their weight and this; those of recurrent layers by the
  /// weight alone.
  int64_t normOffset = 0;
  bool isTied = false; ///< The head is the embedding.
  RopeConfig rope;
  /// Exactly one of the two.
  std::optional<GqaConfig> gqa;
  std::optional<MlaConfig> mla;
  std::optional<MoeConfig> moe;               ///< If any layer is one.
  std::optional<RecurrenceConfig> recurrence; ///< Likewise.
  std::vector<LayerKind> layers;
  DrafterConfig drafter;
  LayerKind drafterLayer;
  /// Whether the checkpoint has heads of a layer each, as a drafter's folder
  /// has them.
  bool hasHeads = false;

  /// Names of a layer's weights, without ".weight", that are not the usual
  /// ones.
  std::span<const KeyName> names;

  const KeyLayout &keys() const { return layouts.front(); }
  /// The key of what is usually called `key`, ".weight" and all.
  std::string named(std::string_view key) const;

  /// The type that the config says the weights have.
  WeightType storedType = WeightType::BF16;
  GenerationConfig generation;
};

/// The prefix of the keys of a layer's weights.
std::string layerPrefix(const ModelConfig &config, int64_t layer);
/// The same for MTP module `module`, of a family that has them.
std::string modulePrefix(const ModelConfig &config, int64_t module);
/// The same of the layer in it.
std::string moduleLayerPrefix(const ModelConfig &config, int64_t module);
/// How many of the layers in front of `layer` are recurrent, or how many have
/// attention: where the layer's state or entries are.
int64_t placeAmongAlike(const ModelConfig &config, size_t layer);
/// A weight that every MTP module of the family has and no layer.
std::string moduleMark(const ModelConfig &config, int64_t module);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_MODELCONFIG_H
