//===- MetaConfig.h - The params.json of Meta's checkpoints -----*- C++ -*-===//
//
// Private to the readers: what a model and heads of a layer each share.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_METACONFIG_H
#define MTP_COMPILER_IMPORT_METACONFIG_H

#include "compiler/Import/ConfigFields.h"
#include "compiler/Import/ModelConfig.h"

#include <string_view>

namespace mtp::importer {

/// In front of the keys of heads of a layer each, and a weight that the first
/// of them has.
inline constexpr std::string_view kHeadsRoot = "extra_heads.";
inline constexpr std::string_view kHeadMark =
    "extra_heads.0.attention.wq.weight";

/// Whether these are the keys of params.json.
bool isMetaConfig(const ConfigFields &fields);

/// Names, norms, attention and rotation of layers whose `hidden` is known.
void readMetaLayers(ConfigFields &fields, ModelConfig &layers);
/// The width of the feed-forward part, which Llama's code makes of other keys.
int64_t readMetaWidth(ConfigFields &fields, int64_t dim);

/// Reads a whole model, whose layers are the trunk and the head of the next
/// token; the first failure of `fields`.
Status readMetaModel(ConfigFields &fields, ModelConfig &config);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_METACONFIG_H
