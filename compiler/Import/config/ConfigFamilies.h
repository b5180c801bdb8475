//===- ConfigFamilies.h - Parts of the config reader ------------*- C++ -*-===//
//
// Private to the reader. Each function reads one part of a config from `fields`
// and records failures there.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_CONFIGFAMILIES_H
#define MTP_COMPILER_IMPORT_CONFIG_CONFIGFAMILIES_H

#include "compiler/Import/config/ConfigFields.h"
#include "compiler/Import/config/ModelConfig.h"

namespace mtp::importer {

/// Defaults from a family's configuration class in transformers 5, for keys
/// that all families have and config.json may omit.
struct FamilyDefaults {
  int64_t vocab, hidden, intermediate, layers, heads;
  int64_t kvHeads; ///< 0: the number of heads.
  int64_t maxPositions;
  double normEps;
  std::optional<int32_t> bos, eos;
  bool isTied = false;
};

/// How a family treats rotary parameters.
struct RopeRules {
  /// Default of `partial_rotary_factor`. Absent: the family rotates whole heads
  /// and does not read the key.
  std::optional<double> partial;
  /// True if `mscale_all_dim` scales attention.
  bool scalesAttention = false;
  /// Default of `rope_theta`.
  double theta = 10000.0;
};

/// Reads rotary parameters in the old spelling (`rope_theta`, `rope_scaling`)
/// or the new one (`rope_parameters`). `headDim` is the width of the rotated
/// part. `config` holds the keys that all families share.
RopeConfig readRope(ConfigFields &fields, const ModelConfig &config,
                    int64_t headDim, const RopeRules &rules);

/// Reads rotary parameters of one type of layer: `rope_parameters.TYPE`, or the
/// theta at `key` with `rope_scaling`, which is for full attention alone.
RopeConfig readTypedRope(ConfigFields &fields, const ModelConfig &config,
                         int64_t headDim, const char *type, const char *key,
                         double theta);

/// Returns the number of query heads, which readFamily() has read.
int64_t headsOf(const ModelConfig &config);
/// Gives all layers and the layers of modules grouped attention.
void setAttention(ModelConfig &config, const GqaConfig &gqa,
                  const RopeConfig &rope);
/// Reads what norms add to their weights: 1, or 0 in GGUF files, which store
/// the sums.
int64_t readNormOffset(ConfigFields &fields);
/// Sets what all norms add to their weights.
void setNormOffset(ModelConfig &config, int64_t offset);
/// Gives layers experts: layer i if `isSparse[i]` is true.
void setExperts(ModelConfig &config, const std::vector<bool> &isSparse,
                const MoeConfig &moe);

/// Reads the number of key and value heads. Null means the number of heads. An
/// absent key means the number of heads only if the family's default is 0.
int64_t readKvHeads(ConfigFields &fields, const ModelConfig &config,
                    int64_t absent);

using FamilyReader = void (*)(ConfigFields &fields, ModelConfig &config,
                              const FamilyDefaults &defaults);

/// Reads deepseek_v3 and kimi_k2.
void readDeepSeek(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// Reads dots1.
void readDots1(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// Reads ernie4_5.
void readErnie(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// Reads ernie4_5_moe.
void readErnieMoe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// Reads gemma3_text, the text model of gemma3.
void readGemma3(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults);
/// Reads glm4_moe.
void readGlm4Moe(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// Reads glm4_moe_lite.
void readGlm4MoeLite(ConfigFields &fields, ModelConfig &config,
                     const FamilyDefaults &defaults);
/// Reads hy_v3.
void readHy3(ConfigFields &fields, ModelConfig &config,
             const FamilyDefaults &defaults);
/// Reads llama.
void readLlama(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// Reads ministral3.
void readMinistral3(ConfigFields &fields, ModelConfig &config,
                    const FamilyDefaults &defaults);
/// Reads minimax_m2.
void readMiniMaxM2(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// Reads mistral.
void readMistral(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// Reads qwen2.
void readQwen2(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// Reads qwen3.
void readQwen3(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// Reads qwen3_moe.
void readQwen3Moe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// Reads mimo.
void readMiMo(ConfigFields &fields, ModelConfig &config,
              const FamilyDefaults &defaults);
/// Reads qwen3_next.
void readQwen3Next(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// Reads qwen3_5_text, the text model of qwen3_5.
void readQwen35(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults);
/// Reads qwen3_5_moe_text, the text model of qwen3_5_moe.
void readQwen35Moe(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// Reads seed_oss.
void readSeedOss(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// Reads youtu.
void readYoutu(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);

/// Parses the text of a config, which must be a JSON object.
Result<JsonTree> parseObject(std::string_view text);
/// Reads the keys of family `modelType` and returns the first failure of
/// `fields`. A model with non-causal attention is an error unless `seesAhead`
/// is true.
Status readFamily(ConfigFields &fields, const std::string &modelType,
                  ModelConfig &config, bool seesAhead = false);

/// Defaults from Qwen's configuration classes for the keys of experts.
struct SparseDefaults {
  int64_t experts, topK, width;
  bool isNormalized;
};

/// Reads Qwen's experts, which only some layers have (`decoder_sparse_step`,
/// `mlp_only_layers`). With 0 experts all layers are dense.
void readSparseLayers(ConfigFields &fields, ModelConfig &config,
                      const SparseDefaults &defaults);

/// Sets the window of each windowed layer. `layer_types` names these layers;
/// without the key they are all layers from `max_window_layers` on. `window` 0:
/// no layer has a window.
void readWindowedLayers(ConfigFields &fields, ModelConfig &config,
                        int64_t window, int64_t absentFirst);
/// Reads `sliding_window`. Null means 0 (no window); an absent key means the
/// family's default.
int64_t readWindow(ConfigFields &fields);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_CONFIGFAMILIES_H
