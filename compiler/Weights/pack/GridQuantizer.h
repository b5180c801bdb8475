//===- GridQuantizer.h - Panels of searched grids ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H
#define MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H

#include "compiler/Quantize/ErrorFeedback.h"
#include "compiler/Weights/pack/ActivationStatistics.h"
#include "compiler/Weights/pack/InputEnergies.h"
#include "compiler/Weights/pack/PanelCodes.h"
#include "compiler/Weights/pack/WeightQuantizer.h"

namespace mtp {

/// Returns the grid of a format whose scales can be searched.
std::optional<Grid> gridOf(const WeightFormat &format);

/// Quantises the panels of one weight by a search for scales. Statistics of the
/// inputs weigh the errors of the search, and errors are compensated. Without
/// statistics, estimated energies weigh the errors (InputEnergies.h). Any
/// number of threads may use it.
class GridQuantizer {
public:
  /// Prepares for the weight of a recipe. Returns nothing if its format has no
  /// grid, or if quantizeGroup() has the format and the inputs have no
  /// statistics. `statistics` and `energies` may be null. `threads` factor the
  /// statistics; the result does not depend on them.
  static Result<std::optional<GridQuantizer>>
  make(const WeightSet &weights, const WeightRecipe &recipe,
       const ActivationStatistics *statistics, const InputEnergies *energies,
       unsigned threads);

  /// Prepares for relativeError() only. Precondition: the format has a grid.
  static Result<GridQuantizer> forErrors(const WeightSet &weights,
                                         const WeightRecipe &recipe,
                                         const ActivationStatistics *statistics,
                                         const InputEnergies *energies);

  /// Quantises a panel with 32 values per input and adds to `error`. Returns
  /// false, with unspecified output, if a value is not finite or has a
  /// magnitude of 1e15 or more.
  bool quantize(std::span<const float> values, GridCodes &codes,
                QuantizationError &error) const;

  /// Copies the block that begins at input `begin` to the begin of `to`.
  void copyBlock(const GridCodes &codes, int64_t begin, int64_t inputs,
                 PanelCodes &to) const;

  /// Returns the squared error of the outputs of some panels, relative to the
  /// outputs, for independent inputs and without compensation. The values are
  /// finite.
  double relativeError(std::span<const std::vector<float>> panels) const;

private:
  explicit GridQuantizer(const Grid &grid) : grid(grid) {}

  Grid grid;
  /// Energy of each input; empty if unknown.
  std::vector<float> importance;
  std::optional<ErrorFeedback> feedback;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_GRIDQUANTIZER_H
