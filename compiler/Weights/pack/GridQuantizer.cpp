//===- GridQuantizer.cpp - Panels of searched grids -----------------------===//

#include "compiler/Weights/pack/GridQuantizer.h"
#include "compiler/Quantize/GridSearch.h"
#include "compiler/Quantize/Half.h"

#include <cmath>

namespace mtp {

static constexpr int64_t kOutputs = Grid::kOutputs;
static_assert(kOutputs == QuantizedPanel::kOutputs);
/// Values of this magnitude would overflow squared errors.
static constexpr float kTooLarge = 1e15f;

std::optional<Grid> gridOf(const WeightFormat &format) {
  bool isSmall = format.elements == WeightElements::Int4 ||
                 format.elements == WeightElements::Int5 ||
                 format.elements == WeightElements::Int6;
  bool hasTwoLevels = isSmall && format.panel(1).hasTwoLevels();
  if (!hasTwoLevels &&
      (!format.isPlain() || format.elements != WeightElements::Int4))
    return std::nullopt;
  Grid grid{int(format.bits()), format.hasOffset, format.group,
            !hasTwoLevels                          ? 0
            : format.scales == WeightScales::F16x6 ? 6
                                                   : 8};
  return grid.isValid() ? std::optional(grid) : std::nullopt;
}

Result<GridQuantizer>
GridQuantizer::forErrors(const WeightSet &weights, const WeightRecipe &recipe,
                         const ActivationStatistics *statistics,
                         const InputEnergies *energies) {
  GridQuantizer quantizer(*gridOf(recipe.format));
  MTP_ASSIGN_OR_RETURN(quantizer.importance,
                       statistics ? statistics->energiesOf(recipe)
                                  : std::vector<float>());
  if (quantizer.importance.empty())
    quantizer.importance =
        (energies ? *energies : InputEnergies()).of(weights, recipe);
  return quantizer;
}

Result<std::optional<GridQuantizer>>
GridQuantizer::make(const WeightSet &weights, const WeightRecipe &recipe,
                    const ActivationStatistics *statistics,
                    const InputEnergies *energies, unsigned threads) {
  std::optional<GridQuantizer> quantizer;
  if (!gridOf(recipe.format))
    return quantizer;
  MTP_ASSIGN_OR_RETURN(std::vector<float> moments,
                       statistics ? statistics->momentsOf(recipe)
                                  : std::vector<float>());
  if (moments.empty() && recipe.format.isPlain())
    return quantizer;
  MTP_ASSIGN_OR_RETURN(quantizer,
                       forErrors(weights, recipe, statistics, energies));
  if (!moments.empty())
    quantizer->feedback = ErrorFeedback::make(moments, recipe.k, threads);
  return quantizer;
}

bool GridQuantizer::quantize(std::span<const float> values, GridCodes &codes,
                             QuantizationError &error) const {
  for (float value : values)
    if (!(std::fabs(value) < kTooLarge))
      return false;
  searchGrid(grid, values, importance, codes);
  if (feedback)
    feedback->round(grid, values, codes);
  for (size_t i = 0; i < values.size(); ++i) {
    double value = values[i];
    double off = value - codes.valueAt(grid, int64_t(i) / kOutputs,
                                       int64_t(i) % kOutputs);
    error.add({off * off, value * value, std::fabs(off)});
  }
  return true;
}

void GridQuantizer::copyBlock(const GridCodes &codes, int64_t begin,
                              int64_t inputs, PanelCodes &to) const {
  size_t block = size_t(begin / Grid::kBlock * kOutputs);
  size_t first = size_t(begin / grid.group);
  for (size_t o = 0; o < size_t(kOutputs); ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      int8_t code = codes.q[size_t((begin + i) * kOutputs) + o];
      to.q[o][i] = code;
    }
    for (size_t g = 0; g < size_t(grid.groups(inputs)); ++g) {
      size_t at = (first + g) * size_t(kOutputs) + o;
      GroupCodes &group = to.groups[o][g];
      if (grid.scaleBits == 0)
        group = {codes.scales[at], codes.minima[at], 1, 1};
      else
        group = {widenHalf(codes.scaleFactors[block + o]),
                 widenHalf(codes.minimumFactors[block + o]),
                 codes.scaleCodes[at], codes.minimumCodes[at]};
    }
  }
}

double
GridQuantizer::relativeError(std::span<const std::vector<float>> panels) const {
  double errors = 0, norms = 0;
  for (const std::vector<float> &values : panels) {
    GridCodes codes;
    searchGrid(grid, values, importance, codes);
    for (size_t i = 0; i < values.size(); ++i) {
      size_t input = i / size_t(kOutputs);
      double weight = importance.empty() ? 1 : double(importance[input]);
      double value = values[i];
      double off =
          value - codes.valueAt(grid, int64_t(input), int64_t(i) % kOutputs);
      errors += weight * off * off;
      norms += weight * value * value;
    }
  }
  return norms > 0 ? errors / norms : 0;
}

} // namespace mtp
