//===- GridQuantizer.cpp - Panels of searched grids -----------------------===//

#include "compiler/Weights/pack/GridQuantizer.h"
#include "compiler/Quantize/GridSearch.h"

#include <cmath>
#include <cstring>

namespace mtp {

static constexpr int64_t kOutputs = Grid::kOutputs;
static_assert(kOutputs == QuantizedPanel::kOutputs);
/// Values of this magnitude would overflow squared errors.
static constexpr float kTooLarge = 1e15f;

std::optional<Grid> gridOf(const WeightFormat &format) {
  if (format.elements != WeightElements::Int4)
    return std::nullopt;
  return Grid{int(format.bits()), /*hasMinimum=*/false, format.group,
              /*scaleBits=*/0};
}

Result<std::optional<GridQuantizer>>
GridQuantizer::make(const WeightRecipe &recipe,
                    const ActivationStatistics &statistics, unsigned threads) {
  std::optional<GridQuantizer> quantizer;
  std::optional<Grid> grid = gridOf(recipe.format);
  if (!grid)
    return quantizer;
  MTP_ASSIGN_OR_RETURN(std::vector<float> moments,
                       statistics.momentsOf(recipe));
  if (moments.empty())
    return quantizer;
  quantizer = GridQuantizer(recipe.format, *grid);
  for (int64_t i = 0; i < recipe.k; ++i)
    quantizer->importance.push_back(moments[size_t(i * (recipe.k + 1))]);
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

void GridQuantizer::writeGroup(const GridCodes &codes, int64_t begin,
                               int64_t inputs, uint8_t *out) const {
  std::memcpy(out, codes.scales.data() + begin / grid.group * kOutputs,
              QuantizedPanel::kScaleBytes);
  uint8_t *data = out + QuantizedPanel::kScaleBytes;
  int64_t stored = format.panel(inputs).storedInputs(inputs);
  for (int64_t i = 0; i < stored; ++i)
    for (int64_t o = 0; o < kOutputs; ++o) {
      int q = i < inputs ? codes.q[size_t((begin + i) * kOutputs + o)] : 0;
      uint8_t &to = data[i / 8 * 4 * kOutputs + o * 4 + i % 4];
      int bits = q + format.bias();
      to = uint8_t(i % 8 < 4 ? bits : to | bits << 4);
    }
}

} // namespace mtp
