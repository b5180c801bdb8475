//===- FormatMixture.cpp - Formats of weights under a budget --------------===//

#include "compiler/Driver/FormatMixture.h"
#include "compiler/Quantize/Mixture.h"
#include "compiler/Weights/pack/GridQuantizer.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "passes/exec/QuantizeWeights.h"

#include <atomic>
#include <thread>

using namespace mtp;
using namespace mtp::compiler;

namespace {

/// K4, K5 and K6 of compiler/Quantize.
constexpr WeightFormat kFormats[] = {
    {WeightElements::Int4, 32, WeightScales::F16x6, true},
    {WeightElements::Int5, 32, WeightScales::F16x6, true},
    mlir::mtp::kSixBits};

/// Errors of a weight without values: each bit divides the error by 4.
const std::vector<double> kUnknownErrors = {1, 0.25, 0.0625};

/// The number of panels on which errors are measured.
constexpr int64_t kSampledPanels = 4;

/// Divergence of the model's distribution for a relative squared error of 1: of
/// the head, and of all projections together. The number of projections is
/// rounded from SmolLM2-135M (MEASURED.md of compiler/Quantize); the head's is
/// an estimate.
constexpr double kHeadDivergence = 16, kProjectionDivergence = 40;

using Errors = std::vector<double>;

} // namespace

static WeightRecipe recipeIn(const WeightFormat &format, WeightRecipe recipe) {
  recipe.format = format;
  recipe.panelWidth = QuantizedPanel::kOutputs;
  recipe.fragments = false;
  return recipe;
}

/// Measures the relative error of a weight in each format.
static Result<Errors> measureErrors(const WeightSet *weights,
                                    const WeightRecipe &recipe,
                                    const MixtureOptions &options) {
  if (!weights || weights->randomSeed())
    return kUnknownErrors;
  Errors errors;
  MTP_ASSIGN_OR_RETURN(
      std::vector<std::vector<float>> panels,
      samplePanels(*weights, recipeIn(kFormats[0], recipe), kSampledPanels));
  for (const WeightFormat &format : kFormats) {
    MTP_ASSIGN_OR_RETURN(
        GridQuantizer quantizer,
        GridQuantizer::forErrors(*weights, recipeIn(format, recipe),
                                 options.statistics, options.energies));
    errors.push_back(quantizer.relativeError(panels));
  }
  return errors;
}

Result<InputEnergies>
compiler::estimateEnergies(const WeightSet &weights,
                           std::span<const MixedWeight> mixed) {
  InputEnergies energies;
  for (const MixedWeight &weight : mixed) {
    if (weight.isHead || weight.recipe.norm.empty())
      continue;
    MTP_ASSIGN_OR_RETURN(std::vector<std::vector<float>> panels,
                         samplePanels(weights,
                                      recipeIn(kFormats[0], weight.recipe),
                                      InputEnergies::kPanels));
    energies.add(weights, weight.recipe, panels);
  }
  return energies;
}

/// Measures all weights on several threads.
static Result<std::vector<Errors>>
measureAll(const WeightSet *weights, std::span<const MixedWeight> mixed,
           const MixtureOptions &options) {
  std::vector<Errors> errors(mixed.size());
  std::vector<Status> failures(mixed.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < mixed.size();) {
      if (mixed[i].isHead && !options.hasHeads)
        continue;
      Result<Errors> measured =
          measureErrors(weights, mixed[i].recipe, options);
      if (measured)
        errors[i] = std::move(*measured);
      else
        failures[i] = measured.status();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < options.threads; ++t)
      helpers.emplace_back(work);
    work();
  }
  for (const Status &failure : failures)
    MTP_RETURN_IF_ERROR(failure);
  return errors;
}

/// Returns the choice between the formats for a weight, of which the model has
/// `projections` that are no heads. Projections have K6 only if the budget
/// exceeds the bits of K5.
static MixtureItem itemOf(const MixedWeight &weight, const Errors &errors,
                          double projections, double budget) {
  const WeightRecipe &recipe = weight.recipe;
  MixtureItem item;
  item.elements = double(recipe.n) * double(recipe.k) * double(recipe.count);
  double factor =
      weight.isHead ? kHeadDivergence : kProjectionDivergence / projections;
  bool hasAll =
      weight.isHead || budget > kFormats[1].bitsPerWeight(kQuantBlock);
  for (size_t i = 0; i < (hasAll ? std::size(kFormats) : 2); ++i) {
    item.bits.push_back(kFormats[i].bitsPerWeight(kQuantBlock));
    item.errors.push_back(errors[i] * factor);
  }
  return item;
}

Result<std::vector<WeightFormat>>
compiler::chooseFormats(const WeightSet *weights,
                        std::span<const MixedWeight> mixed,
                        const MixtureOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::vector<Errors> errors,
                       measureAll(weights, mixed, options));
  double projections = 0;
  for (const MixedWeight &weight : mixed)
    projections += weight.isHead ? 0 : 1;
  std::vector<MixtureItem> items;
  std::vector<size_t> places;
  for (size_t i = 0; i < mixed.size(); ++i) {
    if (mixed[i].isHead && !options.hasHeads)
      continue;
    items.push_back(itemOf(mixed[i], errors[i], projections, options.bits));
    places.push_back(i);
  }
  std::vector<size_t> chosen = chooseMixture(items, options.bits);
  std::vector<WeightFormat> formats(mixed.size(), mlir::mtp::kSixBits);
  for (size_t i = 0; i < places.size(); ++i)
    formats[places[i]] = kFormats[chosen[i]];
  return formats;
}
