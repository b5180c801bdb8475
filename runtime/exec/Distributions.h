//===- Distributions.h - Inputs that are distributions ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_DISTRIBUTIONS_H
#define MTP_RUNTIME_EXEC_DISTRIBUTIONS_H

#include "mtp/result.h"
#include "mtp/tensor.h"

namespace mtp {

/// The tolerance for the sum of a distribution: its numbers may have been cut
/// off to bf16.
inline constexpr double kSumTolerance = 4e-3;

/// Checks each row of the tensor along its last dimension. InvalidArgument if a
/// number is below 0 or not finite, or if the sum is not 1: "row [2, 0]:
/// expected a sum of 1 (0.004 off at most), got 1.25".
Status checkDistributions(const Tensor &tensor);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_DISTRIBUTIONS_H
