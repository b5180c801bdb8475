//===- Checkpoint.h - What a config leaves to the files ---------*- C++ -*-===//
//
// Private to the importer: where a checkpoint's keys begin, and where its MTP
// modules and their matrices are.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CHECKPOINT_H
#define MTP_COMPILER_IMPORT_CHECKPOINT_H

#include "compiler/Import/ModelConfig.h"
#include "compiler/Import/WeightTable.h"

#include <functional>
#include <string>

namespace mtp::importer {

/// Whether a checkpoint has a key.
using HasKey = std::function<bool(const std::string &key)>;

/// Picks the layout of keys that the checkpoint has. Beside the family's own
/// ones that is what a base class saves: the same without "model." in front
/// (transformers' `base_model_prefix`).
void settleLayout(ModelConfig &config, const HasKey &has);

/// Opens what is missing of the modules that the config announces, or has no
/// key for, in files beside the checkpoint's; then settles their number and
/// where their keys begin.
Status findModules(const std::string &folder, ModelConfig &config,
                   WeightTable &weights);

/// Fails unless the weights contain the first `modules` of the modules that the
/// config announces.
Status checkModules(const ModelConfig &config, const WeightTable &weights,
                    int64_t modules);

/// Finds embeddings and heads of the first `modules` modules that differ from
/// the model's, under the keys `embedding` and `head`.
Status findOwnTables(ModelConfig &config, const WeightTable &weights,
                     int64_t modules, const std::string &embedding,
                     const std::string &head);

/// Whether a key in a module names an embedding or a head.
bool isTable(std::string_view key);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CHECKPOINT_H
