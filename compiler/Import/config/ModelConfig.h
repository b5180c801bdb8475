//===- ModelConfig.h - The config of a model --------------------*- C++ -*-===//
//
// One description for all supported families. All defaults are filled in and
// all dimensions checked. Only the reader sees JSON.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_MODELCONFIG_H
#define MTP_COMPILER_IMPORT_CONFIG_MODELCONFIG_H

#include "compiler/Weights/WeightType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

enum class RopeScalingKind { None, Linear, Llama3, Yarn };

/// Rotary position embedding. Fields of unused scalings keep their defaults.
struct RopeConfig {
  int64_t dim = 0;
  double theta = 10000.0;
  bool isInterleaved = false;
  RopeScalingKind scaling = RopeScalingKind::None;
  double factor = 1.0;
  double lowFreqFactor = 1.0, highFreqFactor = 4.0; ///< For llama3.
  double betaFast = 32.0, betaSlow = 1.0;           ///< For yarn.
  /// Factor of cosines and sines, for yarn.
  double attentionFactor = 1.0;
  int64_t originalMaxPosition = 0;
  bool truncate = true;
  /// For linear and yarn: original positions times the factor. The model was
  /// made for this length, whatever its config's limit is. 0: other scalings.
  int64_t scaledPositions = 0;
  /// Factor that the scaling adds to the attention's scale.
  double scaleFactor = 1.0;

  bool operator==(const RopeConfig &) const = default;
};

/// Attention with grouped key and value heads.
struct GqaConfig {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  bool hasQkvBias = false, hasOutputBias = false;
  bool hasQkNorm = false;
  /// True if one projection holds each head's queries and then a gate for each
  /// column of the head's result.
  bool hasOutputGate = false;
  /// True if one norm covers the queries of all heads, and one the keys of all.
  bool isQkNormWhole = false;
  /// Scores are divided by its square root. 0: by the root of `headDim`.
  double scaleWidth = 0.0;

  bool operator==(const GqaConfig &) const = default;
};

/// A gated delta rule (arXiv:2412.06464) after a causal convolution.
struct RecurrenceConfig {
  int64_t heads = 0, keyHeads = 0; ///< `heads` is a multiple of `keyHeads`.
  int64_t keys = 0, values = 0;    ///< Per head.
  int64_t window = 0;              ///< Rows that the convolution sees.
  /// True if projections are stored by key head: q, k, v, z and b, a of each.
  bool isByKeyHead = false;
  /// True if `A_log` holds -exp(A_log), as in GGUF.
  bool hasLinearRates = false;

  int64_t keyColumns() const { return keyHeads * keys; }
  int64_t valueColumns() const { return heads * values; }
  int64_t columns() const { return 2 * keyColumns() + valueColumns(); }

  bool operator==(const RecurrenceConfig &) const = default;
};

/// Multi-head latent attention.
struct MlaConfig {
  int64_t queryRank = 0; ///< 0: queries have one full projection.
  int64_t latent = 0;
  int64_t nope = 0, rope = 0, value = 0;

  bool operator==(const MlaConfig &) const = default;
};

/// Attention of one layer.
struct AttentionConfig {
  int64_t heads = 0;
  int64_t window = 0; ///< 0: a row sees all earlier positions.
  RopeConfig rope;
  /// Exactly one of `gqa` and `mla` is set.
  std::optional<GqaConfig> gqa;
  std::optional<MlaConfig> mla;

  /// Returns the number of values that a position adds to the KV cache.
  int64_t entryWidth() const {
    return mla ? mla->latent + mla->rope : 2 * gqa->kvHeads * gqa->headDim;
  }
  bool operator==(const AttentionConfig &) const = default;
};

/// Keys of a mixture of experts' weights, after a layer's prefix.
struct ExpertKeys {
  std::string_view router = "mlp.gate.weight";
  std::string_view bias = "mlp.gate.e_score_correction_bias";
  std::string_view shared = "mlp.shared_experts.";
  std::string_view sharedGate = "mlp.shared_expert_gate.weight";
  /// The prefix of one expert's projections; "{}" is its number.
  std::string_view expert = "mlp.experts.{}.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  /// Stacked layout: one tensor for all gates and ups, and one for all downs.
  std::string_view stackedGateUp = "mlp.experts.gate_up_proj";
  std::string_view stackedDown = "mlp.experts.down_proj";

  bool operator==(const ExpertKeys &) const = default;
};

struct MoeConfig {
  int64_t experts = 0;
  int64_t topK = 0;
  int64_t width = 0;          ///< Of one expert.
  int64_t sharedWidth = 0;    ///< Of all shared experts together; 0: none.
  bool mayBeStacked = false;  ///< Checkpoints may use the stacked layout.
  bool isStacked = false;     ///< This checkpoint uses it.
  bool hasSharedGate = false; ///< A logistic gate scales the shared experts.
  bool isSigmoid = false;     ///< Sigmoid scores; otherwise softmax.
  bool hasBias = false;       ///< Scores get a bias for the choice only.
  int64_t groups = 1, keptGroups = 1;
  bool isNormalized = false;
  double scale = 1.0;
  ExpertKeys keys;

  bool operator==(const MoeConfig &) const = default;
};

/// The form of RMS norms.
struct NormForm {
  double eps = 0.0;
  int64_t offset = 0; ///< Added to the weight.

  bool operator==(const NormForm &) const = default;
};

/// The norms of a part's input and of its result, by the keys of their
/// weights. An empty key means no norm.
struct PartNorms {
  std::string_view before;
  NormForm form;
  std::string_view after = {};

  bool operator==(const PartNorms &) const = default;
};

/// The part of a layer that mixes rows: attention or a recurrence.
struct MixerConfig {
  /// Exactly one of the two is set.
  std::optional<AttentionConfig> attention = AttentionConfig();
  std::optional<RecurrenceConfig> recurrence;
  PartNorms norms = {"input_layernorm", {}};

  bool operator==(const MixerConfig &) const = default;
};

/// The function that is applied to the gates of a feed-forward part.
enum class Activation { Silu, GeluTanh };

/// The feed-forward part of a layer.
struct FeedForwardConfig {
  int64_t width = 0; ///< Of a dense part.
  Activation activation = Activation::Silu;
  std::optional<MoeConfig> moe;
  PartNorms norms = {"post_attention_layernorm", {}};

  bool operator==(const FeedForwardConfig &) const = default;
};

/// One layer. Layers with equal descriptions share a function, and layers with
/// an equal part share the part's function.
struct LayerConfig {
  MixerConfig mixer;
  FeedForwardConfig feed;

  bool isMoe() const { return feed.moe.has_value(); }
  bool isStacked() const { return isMoe() && feed.moe->isStacked; }
  bool isRecurrent() const { return mixer.recurrence.has_value(); }
  /// Returns the attention's window. 0: none.
  int64_t window() const {
    return mixer.attention ? mixer.attention->window : 0;
  }
  bool operator==(const LayerConfig &) const = default;
};

/// A family's wiring of its MTP modules.
enum class DrafterStyle {
  None,     ///< The family has no modules.
  DeepSeek, ///< `eh_proj` [e, h].
  Hy3,      ///< As DeepSeek, with another name of the final norm.
  MiMo,     ///< `input_proj` [h, e].
  Qwen,     ///< `fc` [e, h] under the root. Position 0 is not zeroed.
};

/// Keys of a module's own matrices after its prefix. Empty if the module uses
/// the model's.
struct OwnTables {
  std::string embedding, head;

  bool operator==(const OwnTables &) const = default;
};

struct DrafterConfig {
  DrafterStyle style = DrafterStyle::None;
  int64_t modules = 0;
  /// The config's key of the number of modules, for messages.
  std::string_view key = "num_nextn_predict_layers";
  /// True if the config has no number of modules. `modules` is 0 then, and the
  /// checkpoint may still have one.
  bool isUnsaid = false;
  /// True if a module hands on the hidden state after its final norm.
  bool carriesNormed = true;
  /// True if the config says that modules have their own embedding.
  bool ownsEmbedding = false;
  /// Prefix of the keys of Qwen's modules.
  std::string root = "mtp.";
  /// Prefix of the keys of modules in a file of their own, before any other.
  std::string front;
  /// The file of such modules, for messages.
  std::string file;
  /// The number of modules that a GGUF file's metadata count without weights.
  int64_t missing = 0;
  /// One element for each module that drafts, set from the weights.
  std::vector<OwnTables> own;
};

/// Keys of weights outside layers.
struct KeyLayout {
  std::string trunk = "model."; ///< Prefix of layers, embedding and norm.
  std::string head = "lm_head.weight";
  std::string table = "embed_tokens.weight"; ///< After `trunk`.

  std::string embedding() const { return trunk + table; }
};

/// A family's name of a layer's weight, instead of the usual name.
struct KeyName {
  std::string_view usual, own;
};

/// Sampling defaults from generation_config.json. Absent: not given.
struct GenerationConfig {
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  std::optional<double> temperature, topP, minP;
  std::optional<int64_t> topK;
  /// Absent, too, if it is 1 and changes nothing.
  std::optional<double> repetitionPenalty;
  /// Warnings about recommended settings that are not applied.
  std::vector<std::string> warnings;
};

struct ModelConfig {
  std::string family; ///< `model_type` of the text model's config.
  /// The file that was read, and its key of `maxPositions`, for messages.
  std::string file = "config.json";
  std::string_view positionsKey = "max_position_embeddings";
  /// Possible key layouts. A text model within another model has several,
  /// because checkpoints differ; the first one found is used.
  std::vector<KeyLayout> layouts = {KeyLayout()};
  int64_t vocab = 0, hidden = 0;
  int64_t maxPositions = 0;
  /// From this position on the model scales its queries by position, which no
  /// op supports. 0: it never does.
  int64_t plainPositions = 0;
  NormForm norm; ///< Of norms outside layers.
  double embeddingScale = 1.0;
  bool isTied = false; ///< The head is the embedding.
  std::vector<LayerConfig> layers;
  DrafterConfig drafter;
  LayerConfig drafterLayer; ///< The layer of each MTP module.
  /// True if the checkpoint has heads of one layer each, like a folder of such
  /// a drafter.
  bool hasHeads = false;

  /// Names of a layer's weights, without ".weight", that differ from the usual
  /// ones.
  std::span<const KeyName> names;

  const KeyLayout &keys() const { return layouts.front(); }
  /// Return a part of the first layer that has it. Null: no layer does.
  const AttentionConfig *attention() const;
  const RecurrenceConfig *recurrence() const;
  const MoeConfig *moe() const;
  /// Returns the family's key, with ".weight", for the usual name `key`.
  std::string named(std::string_view key) const;

  /// Element type of the weights by the config.
  WeightType storedType = WeightType::BF16;
  GenerationConfig generation;
};

/// Returns the key prefix of a layer's weights.
std::string layerPrefix(const ModelConfig &config, int64_t layer);
/// Returns the key prefix of MTP module `module`. The family must have modules.
std::string modulePrefix(const ModelConfig &config, int64_t module);
/// Returns the key prefix of the layer in MTP module `module`.
std::string moduleLayerPrefix(const ModelConfig &config, int64_t module);
/// Returns the index of `layer` among layers of its kind, recurrent or
/// attention. It selects the layer's state or its KV cache entries.
int64_t placeAmongAlike(const ModelConfig &config, size_t layer);
/// Returns the key of a weight that each MTP module has and no layer has.
std::string moduleMark(const ModelConfig &config, int64_t module);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_MODELCONFIG_H
