//===- WeightPacker.h - Streaming packed weights ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTPACKER_H
#define MTP_COMPILER_WEIGHTS_WEIGHTPACKER_H

#include "compiler/Weights/WeightQuantizer.h"
#include "compiler/Weights/WeightRecipe.h"
#include "compiler/Weights/WeightSet.h"

#include <functional>
#include <span>

namespace mtp {

struct PackOptions {
  /// Threads that pack, the caller's included.
  unsigned threads = 2;
  /// Bytes packed at a time, one panel at least; two windows are held in
  /// memory. 0: 1 MiB for each thread.
  int64_t windowBytes = 0;
  /// Told after each window, from the caller's thread.
  std::function<void(int64_t doneBytes, int64_t totalBytes)> progress;
};

/// Takes the next bytes of a packed weight, on the caller's thread, while
/// others pack what follows; they are gone when it returns. A failure ends the
/// packing.
using WeightSink = std::function<Status(std::span<const uint8_t> bytes)>;

/// Streams the packed form of `recipe` into `sink`: packedBytes(recipe) bytes,
/// the same ones whatever the options. All tensors are found and checked before
/// the first byte. For a quantised weight `error` may be given, which is added
/// to; a NaN or an infinity in it is an error.
Status packWeight(const WeightSet &weights, const WeightRecipe &recipe,
                  const WeightSink &sink, const PackOptions &options = {},
                  QuantizationError *error = nullptr);

/// Only the checks of packWeight().
Status checkSources(const WeightSet &weights, const WeightRecipe &recipe);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTPACKER_H
