//===- GridQuantizer.h - Panels of searched grids ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H
#define MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H

#include "compiler/Quantize/ErrorFeedback.h"
#include "compiler/Weights/pack/ActivationStatistics.h"
#include "compiler/Weights/pack/WeightQuantizer.h"

namespace mtp {

/// Returns the grid of a format whose scales can be searched.
std::optional<Grid> gridOf(const WeightFormat &format);

/// Quantises the panels of one weight by statistics of its inputs: the energies
/// of the inputs weigh the errors of the search for scales, and errors are
/// compensated. Any number of threads may use it.
class GridQuantizer {
public:
  /// Prepares for the weight of a recipe. Returns nothing if its format has no
  /// grid, or if its inputs have no statistics. `threads` factor the
  /// statistics; the result does not depend on them.
  static Result<std::optional<GridQuantizer>>
  make(const WeightRecipe &recipe, const ActivationStatistics &statistics,
       unsigned threads);

  /// Quantises a panel with 32 values per input and adds to `error`. Returns
  /// false, with unspecified output, if a value is not finite or has a
  /// magnitude of 1e15 or more.
  bool quantize(std::span<const float> values, GridCodes &codes,
                QuantizationError &error) const;

  /// Writes the group of a panel that begins at input `begin`, in the form of
  /// quantizeGroup().
  void writeGroup(const GridCodes &codes, int64_t begin, int64_t inputs,
                  uint8_t *out) const;

private:
  GridQuantizer(const WeightFormat &format, const Grid &grid)
      : format(format), grid(grid) {}

  WeightFormat format;
  Grid grid;
  /// Energy of each input.
  std::vector<float> importance;
  std::optional<ErrorFeedback> feedback;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H
