//===- InputEnergies.h - Estimates of how strong inputs are -----*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_INPUTENERGIES_H
#define MTP_COMPILER_WEIGHTS_PACK_INPUTENERGIES_H

#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/WeightRecipe.h"

#include <map>

namespace mtp {

/// Estimates the energies of the inputs of projections after norms from
/// weights alone. Each energy is the product of the squared weight of the norm
/// and of the energy of a channel of the residual stream, which all layers
/// share (compiler/Quantize/DESIGN.md).
class InputEnergies {
public:
  /// The number of panels for add(). Their 512 rows give the energy of a column
  /// with a standard error of 6 %.
  static constexpr int64_t kPanels = 16;

  /// Adds a projection of the model. `panels` are some of its panels
  /// (samplePanels()). Heads and weights without a norm have no effect.
  void add(const WeightSet &weights, const WeightRecipe &recipe,
           std::span<const std::vector<float>> panels);

  /// Returns the energies of a recipe's inputs up to a common factor; empty if
  /// the norm is unknown. Inputs of a head, and inputs without a stream of
  /// their width, have the energies of their norm.
  std::vector<float> of(const WeightSet &weights,
                        const WeightRecipe &recipe) const;

private:
  /// Sums of ln of the estimates of the channels' energies.
  struct Stream {
    std::vector<double> logs;
    double count = 0;
  };
  /// Streams by the number of their channels.
  std::map<int64_t, Stream> streams;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_INPUTENERGIES_H
