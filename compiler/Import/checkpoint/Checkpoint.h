//===- Checkpoint.h - Keys and modules of a checkpoint ----------*- C++ -*-===//
//
// Private to the importer. Finds facts that config.json does not give: the
// prefix of a checkpoint's keys, its MTP modules, and the matrices of these
// modules.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CHECKPOINT_CHECKPOINT_H
#define MTP_COMPILER_IMPORT_CHECKPOINT_CHECKPOINT_H

#include "compiler/Import/config/ModelConfig.h"
#include "compiler/Import/config/WeightTable.h"

#include <functional>
#include <string>

namespace mtp::importer {

/// Returns true if the checkpoint has `key`.
using HasKey = std::function<bool(const std::string &key)>;

/// Sets `config.layouts` to the layout of keys that the checkpoint has: one of
/// the family's own layouts, or one of them without the prefix "model.", as
/// base classes of transformers save it (`base_model_prefix`).
void settleLayout(ModelConfig &config, const HasKey &has);

/// Finds the MTP modules. Opens files beside the checkpoint's for modules that
/// the config announces, or has no key for, and that the checkpoint lacks. Then
/// sets the number of modules and the prefix of their keys.
Status findModules(const std::string &folder, ModelConfig &config,
                   WeightTable &weights);

/// Fails unless the weights contain the first `modules` modules that the config
/// announces.
Status checkModules(const ModelConfig &config, const WeightTable &weights,
                    int64_t modules);

/// Finds embeddings and heads of the first `modules` modules that differ from
/// the model's. `embedding` and `head` are the model's keys.
Status findOwnTables(ModelConfig &config, const WeightTable &weights,
                     int64_t modules, const std::string &embedding,
                     const std::string &head);

/// Returns true if a key within a module names an embedding or a head.
bool isTable(std::string_view key);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CHECKPOINT_CHECKPOINT_H
