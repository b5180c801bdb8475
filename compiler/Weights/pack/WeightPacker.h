//===- WeightPacker.h - Streaming packed weights ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_WEIGHTPACKER_H
#define MTP_COMPILER_WEIGHTS_PACK_WEIGHTPACKER_H

#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/ActivationStatistics.h"
#include "compiler/Weights/pack/InputEnergies.h"
#include "compiler/Weights/pack/WeightQuantizer.h"
#include "compiler/Weights/pack/WeightRecipe.h"

#include <functional>
#include <span>

namespace mtp {

struct PackOptions {
  /// The number of packing threads, including the caller's.
  unsigned threads = 2;
  /// Bytes per window, at least one panel. Two windows are held in memory. 0: 1
  /// MiB per thread.
  int64_t windowBytes = 0;
  /// Called after each window, on the caller's thread.
  std::function<void(int64_t doneBytes, int64_t totalBytes)> progress;
  /// Statistics of a text, for formats with a grid (GridQuantizer.h); null:
  /// none.
  const ActivationStatistics *statistics = nullptr;
  /// Energies of inputs without statistics; null: energies of norms.
  const InputEnergies *energies = nullptr;
};

/// Receives the next bytes of a packed weight, on the caller's thread, while
/// other threads pack the following bytes. The bytes are valid only during the
/// call. A failure stops the packing.
using WeightSink = std::function<Status(std::span<const uint8_t> bytes)>;

/// Streams the packed form of `recipe` into `sink`: packedBytes(recipe) bytes,
/// which do not depend on the options. All tensors are found and checked before
/// the first byte. For a quantised weight, its error is added to `error` if
/// given; a NaN or infinity in the weight fails.
Status packWeight(const WeightSet &weights, const WeightRecipe &recipe,
                  const WeightSink &sink, const PackOptions &options = {},
                  QuantizationError *error = nullptr);

/// Returns up to `count` panels of a weight at equal distances, before they are
/// quantised. A panel has 32 values for each input. The recipe's layout has
/// panels of 32 outputs.
Result<std::vector<std::vector<float>>> samplePanels(const WeightSet &weights,
                                                     const WeightRecipe &recipe,
                                                     int64_t count);

/// Runs only the checks of packWeight().
Status checkSources(const WeightSet &weights, const WeightRecipe &recipe);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_WEIGHTPACKER_H
