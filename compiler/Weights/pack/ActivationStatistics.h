//===- ActivationStatistics.h - How strong inputs are -----------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_ACTIVATIONSTATISTICS_H
#define MTP_COMPILER_WEIGHTS_PACK_ACTIVATIONSTATISTICS_H

#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/WeightRecipe.h"

namespace mtp {

/// Second moments of the inputs of projections, as `mtp-run
/// --collect-activations` writes them. Immutable after opening, so any number
/// of threads may read it.
class ActivationStatistics {
public:
  /// Opens the file and checks the size of each tensor.
  static Result<ActivationStatistics> open(const std::string &path);

  /// Returns the moments of the inputs of a recipe: k * k numbers in rows.
  /// Empty if the file does not have the key of a source, or if the source is
  /// transposed. Fails if the tensor has another number of inputs, or a number
  /// that is not finite.
  Result<std::vector<float>> momentsOf(const WeightRecipe &recipe) const;

  /// Returns the diagonal of momentsOf().
  Result<std::vector<float>> energiesOf(const WeightRecipe &recipe) const;

private:
  explicit ActivationStatistics(WeightSet file) : file(std::move(file)) {}

  /// A triangle of moments, and the first input of a recipe in it.
  struct Moments {
    std::span<const uint8_t> bytes;
    int64_t inputs, begin;
  };

  Result<std::optional<Moments>> find(const WeightRecipe &recipe) const;
  /// Reads the first numbers of a row of the recipe's triangle.
  static Status read(const WeightRecipe &recipe, const Moments &moments,
                     int64_t row, std::span<float> out);

  WeightSet file;
  /// The tensor for each key of a weight.
  std::map<std::string, std::string, std::less<>> tensors;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_ACTIVATIONSTATISTICS_H
