//===- Elements.h - Tensor elements as numbers ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_TENSORS_ELEMENTS_H
#define MTP_TOOLS_MTP_RUN_TENSORS_ELEMENTS_H

#include "mtp/tensor.h"
#include "runtime/core/Result.h"

#include <string_view>

namespace mtp {

bool isFloat(ElementType type);

/// Returns element `index` of a tensor. 64-bit integers may lose their low
/// bits.
double elementAt(const Tensor &tensor, uint64_t index);

/// Returns the shortest text of element `index` that reads back as equal bits.
std::string elementText(const Tensor &tensor, uint64_t index);

/// Appends the bytes of a number, for example "-3", "1.5e3", "true", "inf",
/// "nan". Narrow floats are rounded to nearest even. Fails if the text is no
/// number or does not fit the type.
Status appendElement(Tensor &tensor, std::string_view text);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_TENSORS_ELEMENTS_H
