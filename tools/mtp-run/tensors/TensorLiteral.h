//===- TensorLiteral.h - Tensors on the command line ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_TENSORS_TENSORLITERAL_H
#define MTP_TOOLS_MTP_RUN_TENSORS_TENSORLITERAL_H

#include "mtp/tensor.h"
#include "runtime/core/Result.h"

#include <string_view>

namespace mtp {

/// Reads "2x3xi32=[[1, 2, 3], [4, 5, 6]]", "f32=1.5" (a scalar), "4xf32=0" (one
/// value for all elements), or "@file.npy". Blanks may replace commas.
Result<Tensor> parseTensor(std::string_view text);

/// Formats a tensor in this notation, for example "2x2xf32=[[1, 2], [3, 4]]".
std::string tensorText(const Tensor &tensor);

/// Formats the value as nested JSON arrays; NaN and infinities become null.
std::string tensorJson(const Tensor &tensor);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_TENSORS_TENSORLITERAL_H
