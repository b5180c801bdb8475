//===- FormatMixture.h - Formats of weights under a budget ------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_FORMATMIXTURE_H
#define MTP_COMPILER_DRIVER_FORMATMIXTURE_H

#include "compiler/Weights/WeightSet.h"
#include "compiler/Weights/pack/ActivationStatistics.h"
#include "compiler/Weights/pack/InputEnergies.h"
#include "compiler/Weights/pack/WeightRecipe.h"

#include <optional>
#include <span>

namespace mtp::compiler {

/// A weight that becomes integers. The recipe's format does not matter.
struct MixedWeight {
  WeightRecipe recipe;
  bool isHead = false;
};

struct MixtureOptions {
  /// Mean bits of the weights that share the budget, for rows of whole blocks
  /// of 256 inputs.
  double bits = 0;
  /// Whether heads share the budget. Otherwise they have mlir::mtp::kSixBits.
  bool hasHeads = false;
  /// Null: none.
  const ActivationStatistics *statistics = nullptr;
  const InputEnergies *energies = nullptr;
  unsigned threads = 1;
};

/// Estimates the energies of inputs from all projections of a model.
Result<InputEnergies> estimateEnergies(const WeightSet &weights,
                                       std::span<const MixedWeight> mixed);

/// Returns the format of each weight: K4, K5 or K6 of compiler/Quantize. Its
/// error in each format is measured on some panels. `weights` may be null or
/// random: all weights then have equal errors. If the budget is below the bits
/// of K4, all weights that share it have K4. The result does not depend on the
/// number of threads.
Result<std::vector<WeightFormat>>
chooseFormats(const WeightSet *weights, std::span<const MixedWeight> mixed,
              const MixtureOptions &options);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_FORMATMIXTURE_H
