//===- ConfigFamilies.h - Parts of the config reader ------------*- C++ -*-===//
//
// Private to the reader: one function per part of a config, each taking its
// keys from `fields` and leaving failures there.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIGFAMILIES_H
#define MTP_COMPILER_IMPORT_CONFIGFAMILIES_H

#include "compiler/Import/ConfigFields.h"
#include "compiler/Import/ModelConfig.h"

namespace mtp::importer {

/// What a family's configuration class in transformers 5 gives to the keys that
/// all families have and config.json may leave out.
struct FamilyDefaults {
  int64_t vocab, hidden, intermediate, layers, heads;
  int64_t kvHeads; ///< 0: as many as there are heads.
  int64_t maxPositions;
  double normEps;
  std::optional<int32_t> bos, eos;
  bool isTied = false;
};

/// What a family does with rotary parameters.
struct RopeRules {
  /// `partial_rotary_factor` where none is given. Absent: the family's code
  /// rotates whole heads and does not read the key.
  std::optional<double> partial;
  /// Attention is scaled by `mscale_all_dim`.
  bool scalesAttention = false;
  /// `rope_theta` where none is given.
  double theta = 10000.0;
};

/// Reads rotary parameters in the old spelling (`rope_theta`, `rope_scaling`)
/// or the new one (`rope_parameters`). `headDim` is the width of what rotates,
/// `config` has what all families share.
RopeConfig readRope(ConfigFields &fields, const ModelConfig &config,
                    int64_t headDim, const RopeRules &rules);

/// The number of key and value heads. Null asks for as many as there are heads,
/// which absence does only where the family's default is 0.
int64_t readKvHeads(ConfigFields &fields, const ModelConfig &config,
                    int64_t absent);

using FamilyReader = void (*)(ConfigFields &fields, ModelConfig &config,
                              const FamilyDefaults &defaults);

/// deepseek_v3 and kimi_k2.
void readDeepSeek(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// dots1.
void readDots1(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// ernie4_5.
void readErnie(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// ernie4_5_moe.
void readErnieMoe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// glm4_moe.
void readGlm4Moe(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// glm4_moe_lite.
void readGlm4MoeLite(ConfigFields &fields, ModelConfig &config,
                     const FamilyDefaults &defaults);
/// hy_v3.
void readHy3(ConfigFields &fields, ModelConfig &config,
             const FamilyDefaults &defaults);
/// llama.
void readLlama(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// ministral3.
void readMinistral3(ConfigFields &fields, ModelConfig &config,
                    const FamilyDefaults &defaults);
/// minimax_m2.
void readMiniMaxM2(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// mistral.
void readMistral(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// qwen2.
void readQwen2(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// qwen3.
void readQwen3(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);
/// qwen3_moe.
void readQwen3Moe(ConfigFields &fields, ModelConfig &config,
                  const FamilyDefaults &defaults);
/// mimo.
void readMiMo(ConfigFields &fields, ModelConfig &config,
              const FamilyDefaults &defaults);
/// qwen3_next.
void readQwen3Next(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// qwen3_5_text, the text model of qwen3_5.
void readQwen35(ConfigFields &fields, ModelConfig &config,
                const FamilyDefaults &defaults);
/// qwen3_5_moe_text, that of qwen3_5_moe.
void readQwen35Moe(ConfigFields &fields, ModelConfig &config,
                   const FamilyDefaults &defaults);
/// seed_oss.
void readSeedOss(ConfigFields &fields, ModelConfig &config,
                 const FamilyDefaults &defaults);
/// youtu.
void readYoutu(ConfigFields &fields, ModelConfig &config,
               const FamilyDefaults &defaults);

/// Parses a config's text, whose root must be an object.
Result<StrictJson> parseObject(std::string_view text);
/// Reads what the family `modelType` reads; the first failure of `fields`. A
/// model whose rows see later ones is an error unless it `seesAhead`.
Status readFamily(ConfigFields &fields, const std::string &modelType,
                  ModelConfig &config, bool seesAhead = false);

/// What Qwen's configuration classes give to absent keys of experts.
struct SparseDefaults {
  int64_t experts, topK, width;
  bool isNormalized;
};

/// Qwen's experts, which some layers have: `decoder_sparse_step`,
/// `mlp_only_layers`. No experts: all layers are dense.
void readSparseLayers(ConfigFields &fields, ModelConfig &config,
                      const SparseDefaults &defaults);

/// The window of the layers that see one, where a family reads `layer_types`
/// or, without it, windows all from `max_window_layers` on. `window` 0: none.
void readWindowedLayers(ConfigFields &fields, ModelConfig &config,
                        int64_t window, int64_t absentFirst);
/// `sliding_window`: null is none (0), absence the default.
int64_t readWindow(ConfigFields &fields);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIGFAMILIES_H
