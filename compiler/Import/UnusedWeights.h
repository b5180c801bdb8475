//===- UnusedWeights.h - What of a checkpoint is left unread ----*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_UNUSEDWEIGHTS_H
#define MTP_COMPILER_IMPORT_UNUSEDWEIGHTS_H

#include "compiler/Import/ModelConfig.h"
#include "compiler/Import/WeightTable.h"

#include <string>
#include <vector>

namespace mtp::importer {

/// Weights that nothing reads though they mean something: a config that is
/// wrong or lacks a key shows in them.
struct UnusedWeights {
  std::vector<std::string> inLayers; ///< Under a layer or an MTP module.
  std::vector<std::string> elsewhere;
};

/// Which modules of the checkpoint the module at hand has, and whether the
/// caller asked for no more.
struct ModuleChoice {
  int64_t modules = 0;
  bool isAsked = false;
};

/// Sorts what `weights` was not asked for, and leaves out what is known to be
/// without meaning.
UnusedWeights findUnusedWeights(const WeightTable &weights,
                                const ModelConfig &config,
                                const ModuleChoice &choice);

/// "N: "first", "second", "third" and N - 3 more".
std::string listKeys(const std::vector<std::string> &keys);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_UNUSEDWEIGHTS_H
