//===- GridSearch.h - The best grid of a panel ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_QUANTIZE_GRIDSEARCH_H
#define MTP_COMPILER_QUANTIZE_GRIDSEARCH_H

#include "compiler/Quantize/Grid.h"

#include <span>

namespace mtp {

/// Quantises a panel with little weighted squared error: the sum over inputs i
/// of importance[i] * (value - quantised value)^2, for each output.
///
/// `values` has 32 finite numbers per input, one for each output.
/// `importance` has a number per input that is finite and not negative, or is
/// empty: all inputs count alike.
void searchGrid(const Grid &grid, std::span<const float> values,
                std::span<const float> importance, GridCodes &codes);

/// Rounds the values of one input to the grid that `codes` has for it.
void roundInput(const Grid &grid, const float *values, int64_t input,
                GridCodes &codes);

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_GRIDSEARCH_H
