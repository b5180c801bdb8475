//===- RandomWeights.h - Weights without a checkpoint -----------*- C++ -*-===//
//
// Values for a model that is only measured. Each is a function of the seed, the
// weight's first key and its row and column, so that threads, windows and
// layouts do not change it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_RANDOMWEIGHTS_H
#define MTP_COMPILER_WEIGHTS_RANDOMWEIGHTS_H

#include "compiler/Weights/WeightRecipe.h"

namespace mtp {

/// The distribution of one matrix: uniform within `spread` of `centre`.
struct RandomMatrix {
  uint64_t stream = 0;
  float centre = 0;
  float spread = 0;

  /// Values [first, first + count) of the row-major order of all.
  void read(int64_t first, int64_t count, float *out) const;
};

/// The values of matrix `stack` of a recipe, from its source of that number on.
/// Matrices have a variance of 1/k, so that an input of unit variance gives
/// such an output. Raw ones are tables, whose rows are looked up: they have
/// that variance themselves. Of weights of one dimension, those with a key that
/// ends in "bias" are near zero and all others, the norms, near one.
RandomMatrix randomMatrix(uint64_t seed, const WeightRecipe &recipe,
                          size_t source, int64_t stack);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_RANDOMWEIGHTS_H
