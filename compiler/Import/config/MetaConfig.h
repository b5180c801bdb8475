//===- MetaConfig.h - The params.json of Meta's checkpoints -----*- C++ -*-===//
//
// Private to the readers. Shared by Meta's models and by heads of one layer
// each.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_METACONFIG_H
#define MTP_COMPILER_IMPORT_CONFIG_METACONFIG_H

#include "compiler/Import/config/ConfigFields.h"
#include "compiler/Import/config/ModelConfig.h"

#include <string_view>

namespace mtp::importer {

/// Prefix of the keys of heads of one layer each, and a weight of the first
/// head.
inline constexpr std::string_view kHeadsRoot = "extra_heads.";
inline constexpr std::string_view kHeadMark =
    "extra_heads.0.attention.wq.weight";

/// Returns true if the keys belong to a params.json.
bool isMetaConfig(const ConfigFields &fields);

/// Reads names, norms, attention and rotation. `layers.hidden` must be set.
void readMetaLayers(ConfigFields &fields, ModelConfig &layers);
/// Returns the width of the feed-forward part, which Llama's code computes from
/// other keys.
int64_t readMetaWidth(ConfigFields &fields, int64_t dim);

/// Reads a whole model, whose layers are the trunk and the next-token head.
/// Returns the first failure of `fields`.
Status readMetaModel(ConfigFields &fields, ModelConfig &config);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_METACONFIG_H
