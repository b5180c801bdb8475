//===- ArtifactWriter.h - Writes model.bin ----------------------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H
#define MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H

#include "compiler/Artifact/ArtifactTables.h"
#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/ActivationStatistics.h"
#include "compiler/Weights/pack/InputEnergies.h"
#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightQuantizer.h"
#include "runtime/artifact/Artifact.h"
#include <functional>

namespace mtp::compiler {

/// Called with the number of bytes of weights packed so far and of all weights.
using PackProgress = std::function<void(uint64_t done, uint64_t total)>;

struct WriteOptions {
  /// Number of threads that pack weights.
  unsigned threads = 2;
  /// Leaves random weights out and writes their recipes (WeightlessFile.h).
  bool omitWeights = false;
  PackProgress progress;
  /// Statistics of a text, for the quantiser; null: none.
  const ActivationStatistics *statistics = nullptr;
  /// Estimates without statistics, for the quantiser; null: none.
  const InputEnergies *energies = nullptr;
  /// Called for each quantised weight with its error.
  std::function<void(const WeightRecipe &, const QuantizationError &)>
      onQuantized;
  /// Called with every packed weight and its stored types.
  std::function<void(const WeightRecipe &, const StoredTypes &)> onPacked;
  /// Called with the finished tables before the file appears; null: not. An
  /// error leaves the path unchanged.
  std::function<Status(const Artifact &)> checkArtifact;
};

/// Writes an artifact. Weights are streamed from `weights` into their packed
/// form, a few megabytes at a time. `weights` may be null only if the modules
/// declare no weights. If an error occurs, `path` is unchanged.
Status writeArtifact(const ArtifactInputs &inputs, const WeightSet *weights,
                     const std::string &path, const WriteOptions &options);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H
