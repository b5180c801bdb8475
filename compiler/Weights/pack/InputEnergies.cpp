//===- InputEnergies.cpp - Estimates of how strong inputs are -------------===//

#include "compiler/Weights/pack/InputEnergies.h"
#include "runtime/schema/QuantizedPanel.h"

#include <algorithm>
#include <cmath>

namespace mtp {

/// Squares of weights of this magnitude would overflow.
static constexpr float kTooLarge = 1e15f;

/// Returns the squared weights of the norm of a recipe's inputs; empty if the
/// norm is unknown or its tensor has another form.
static std::vector<float> energiesOfNorm(const WeightSet &weights,
                                         const WeightRecipe &recipe) {
  std::vector<float> energies;
  if (recipe.norm.empty() || weights.randomSeed())
    return energies;
  Result<TensorView> found = weights.get(recipe.norm);
  if (!found)
    return energies;
  TensorView norm = found->withRank(1);
  if (norm.shape.size() != 1 || norm.shape[0] != recipe.k || norm.stored ||
      norm.join || !isReadable(norm.type) || hasBlocks(norm.type))
    return energies;
  energies.resize(size_t(recipe.k));
  decodeElements(norm.type, norm.bytes.data(), recipe.k, energies.data());
  for (float &value : energies) {
    value = value * norm.factor + float(recipe.normOffset);
    value = std::fabs(value) < kTooLarge ? value * value : 0;
  }
  return energies;
}

void InputEnergies::add(const WeightSet &weights, const WeightRecipe &recipe,
                        std::span<const std::vector<float>> panels) {
  std::vector<float> norm = energiesOfNorm(weights, recipe);
  if (norm.empty() || recipe.isHead)
    return;
  // The outputs' energy that each input contributes, of a stream whose channels
  // have equal energy.
  std::vector<double> shares(norm.size(), 0.0);
  for (const std::vector<float> &values : panels)
    for (size_t i = 0; i < values.size(); ++i)
      shares[i / size_t(QuantizedPanel::kOutputs)] +=
          double(values[i]) * double(values[i]);
  double sum = 0;
  for (size_t i = 0; i < shares.size(); ++i)
    sum += shares[i] *= double(norm[i]);
  // Values that are not finite are refused when they are quantised.
  if (!(sum > 0) || !std::isfinite(sum))
    return;
  // An input that contributes almost nothing must not become the most
  // important.
  constexpr double kLeast = 1e-7;
  Stream &stream = streams[recipe.k];
  stream.logs.resize(shares.size());
  stream.count += 1;
  for (size_t i = 0; i < shares.size(); ++i)
    stream.logs[i] -=
        std::log(std::max(shares[i] / sum * double(shares.size()), kLeast));
}

std::vector<float> InputEnergies::of(const WeightSet &weights,
                                     const WeightRecipe &recipe) const {
  std::vector<float> energies = energiesOfNorm(weights, recipe);
  auto found = streams.find(recipe.k);
  if (energies.empty() || recipe.isHead || found == streams.end())
    return energies;
  const Stream &stream = found->second;
  for (size_t i = 0; i < energies.size(); ++i)
    energies[i] *= float(std::exp(stream.logs[i] / stream.count));
  return energies;
}

} // namespace mtp
