//===- Compare.h - Compare results with expected ones -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_COMPARE_H
#define MTP_TOOLS_MTP_RUN_COMPARE_H

#include "mtp/tensor.h"
#include "runtime/core/Status.h"

namespace mtp {

/// Returns OK if the types are equal and each element is within `tolerance` of
/// the expected one, relative to the larger of the expected element and 1. Two
/// NaN are equal. The message names the first element that differs.
Status compareTensors(const Tensor &expected, const Tensor &got,
                      double tolerance);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_COMPARE_H
