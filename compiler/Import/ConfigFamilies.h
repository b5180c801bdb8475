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

/// Reads rotary parameters in the old spelling (`rope_theta`, `rope_scaling`)
/// or the new one (`rope_parameters`). `headDim` is what
/// `partial_rotary_factor` is a part of, `partialDefault` its default.
RopeConfig readRope(ConfigFields &fields, int64_t headDim,
                    double partialDefault = 1.0);

/// deepseek_v3.
void readDeepSeek(ConfigFields &fields, ModelConfig &config);
/// glm4_moe.
void readGlm4Moe(ConfigFields &fields, ModelConfig &config);
/// llama.
void readLlama(ConfigFields &fields, ModelConfig &config);
/// qwen2.
void readQwen2(ConfigFields &fields, ModelConfig &config);
/// qwen3 and qwen3_moe.
void readQwen3(ConfigFields &fields, ModelConfig &config);
/// mimo.
void readMiMo(ConfigFields &fields, ModelConfig &config);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIGFAMILIES_H
