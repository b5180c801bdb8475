//===- ArtifactWriter.h - Writes model.bin ----------------------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H
#define MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H

#include "compiler/Artifact/ArtifactTables.h"
#include "compiler/Weights/WeightQuantizer.h"
#include "compiler/Weights/WeightSet.h"
#include <functional>

namespace mtp::compiler {

/// Bytes of weights packed so far, and of all.
using PackProgress = std::function<void(uint64_t done, uint64_t total)>;

struct WriteOptions {
  /// Threads that pack weights.
  unsigned threads = 2;
  /// Leave random weights out and say how they are made (WeightlessFile.h).
  bool omitWeights = false;
  PackProgress progress;
  /// Told what became of each quantised weight.
  std::function<void(const WeightRecipe &, const QuantizationError &)>
      onQuantized;
};

/// Writes an artifact. Weights are streamed from `weights` into their packed
/// form, a few megabytes at a time; `weights` may be null only where the
/// modules declare none. On an error, `path` is as it was.
Status writeArtifact(const ArtifactInputs &inputs, const WeightSet *weights,
                     const std::string &path, const WriteOptions &options);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ARTIFACTWRITER_H
