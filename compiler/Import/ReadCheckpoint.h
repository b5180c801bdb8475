//===- ReadCheckpoint.h - Read a model and its drafter ----------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_READCHECKPOINT_H
#define MTP_COMPILER_IMPORT_READCHECKPOINT_H

#include "compiler/Import/config/WeightTable.h"
#include "compiler/Import/emitters/ModelEmitter.h"
#include "compiler/Import/plan/ImportOptions.h"

namespace mtp::importer {

/// Passes a warning to the caller, if the caller takes warnings.
void warn(const ImportOptions &options, const std::string &text);

/// Reads the config, and takes what it leaves open from the files, which it
/// opens in `weights`.
Result<ModelConfig> readModel(const std::string &folder, ImportOptions &options,
                              std::optional<WeightTable> &weights);

/// Takes what the config leaves open from the checkpoint, as transformers does.
Result<SharedKeys> consultWeights(ModelConfig &config,
                                  const WeightTable &weights,
                                  const ImportOptions &options);

/// Reads the drafter that --drafter names, and opens its weights with the
/// target's.
Result<std::optional<DrafterFolder>> readFolder(const std::string &target,
                                                const ModelConfig &config,
                                                const ImportOptions &options,
                                                WeightTable &weights,
                                                const SharedKeys &keys);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_READCHECKPOINT_H
