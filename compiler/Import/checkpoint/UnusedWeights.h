//===- UnusedWeights.h - Weights that the model does not use ----*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CHECKPOINT_UNUSEDWEIGHTS_H
#define MTP_COMPILER_IMPORT_CHECKPOINT_UNUSEDWEIGHTS_H

#include "compiler/Import/config/ModelConfig.h"
#include "compiler/Import/config/WeightTable.h"

#include <string>
#include <vector>

namespace mtp::importer {

/// Weights that nothing reads although they have a meaning. They indicate a
/// config that is wrong or lacks a key.
struct UnusedWeights {
  std::vector<std::string> inLayers; ///< Under a layer or an MTP module.
  std::vector<std::string> elsewhere;
};

/// The checkpoint's modules that the imported model has, and whether the caller
/// limited their number.
struct ModuleChoice {
  int64_t modules = 0;
  bool isAsked = false;
};

/// Sorts the weights that were not requested from `weights`, except weights
/// known to have no meaning.
UnusedWeights findUnusedWeights(const WeightTable &weights,
                                const ModelConfig &config,
                                const ModuleChoice &choice);

/// Returns keys for a message: "N: "first", "second", "third" and N - 3 more".
std::string listKeys(const std::vector<std::string> &keys);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CHECKPOINT_UNUSEDWEIGHTS_H
