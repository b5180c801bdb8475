//===- BlockScales.h - The scales of an FP8 tensor --------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_BLOCKSCALES_H
#define MTP_COMPILER_WEIGHTS_PACK_BLOCKSCALES_H

#include "compiler/Weights/WeightSet.h"

namespace mtp {

/// Scales of an FP8 tensor, one for each block of 128 x 128 elements. Empty for
/// other tensors. Valid as long as the set exists.
class BlockScales {
public:
  /// Finds the scales of the FP8 tensor `key` at `KEY_scale_inv`, and checks
  /// them. `tensor` has the rows of one matrix, or of a stack of matrices of
  /// `matrixRows` rows if that is not 0.
  static Result<BlockScales> find(const WeightSet &weights,
                                  const std::string &key,
                                  const TensorView &tensor, int64_t matrixRows);

  bool isEmpty() const { return !bytes; }

  /// Multiplies `count` elements of a row, from column `col` on, by their
  /// scales.
  void apply(int64_t row, int64_t col, int64_t count, float *values) const;

private:
  float at(int64_t row, int64_t block) const;

  const uint8_t *bytes = nullptr;
  WeightType type = WeightType::F32;
  int64_t matrixRows = 0;               ///< Of each matrix of a stack.
  int64_t blockRows = 0, blockCols = 0; ///< Blocks of each matrix.
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_BLOCKSCALES_H
