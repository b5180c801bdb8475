//===- RandomWeights.h - Weights without a checkpoint -----------*- C++ -*-===//
//
// Values for a model that is only measured. A value is a function of the seed,
// the weight's first key, and its row and column, so threads, windows and
// layouts do not change it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_RANDOMWEIGHTS_H
#define MTP_COMPILER_WEIGHTS_PACK_RANDOMWEIGHTS_H

#include "compiler/Weights/pack/WeightRecipe.h"

namespace mtp {

/// The distribution of one matrix: uniform in [centre - spread, centre +
/// spread].
struct RandomMatrix {
  uint64_t stream = 0;
  float centre = 0;
  float spread = 0;

  /// Writes values [first, first + count) in row-major order.
  void read(int64_t first, int64_t count, float *out) const;
};

/// Returns the values of matrix `stack` of a recipe, beginning with source
/// `source`. A matrix has variance 1/k, so that an input of unit variance gives
/// an output of unit variance. Raw matrices are lookup tables, whose elements
/// have unit variance. An embedding that shares the panels of a quantised head
/// has the head's variance, so the plans of an artifact may differ in such a
/// table. Vectors whose key ends in "bias" are near zero; all
/// other vectors are norms, near one.
RandomMatrix randomMatrix(uint64_t seed, const WeightRecipe &recipe,
                          size_t source, int64_t stack);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_RANDOMWEIGHTS_H
