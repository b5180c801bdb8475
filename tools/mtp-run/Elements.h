//===- Elements.h - Tensor elements as numbers ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_ELEMENTS_H
#define MTP_TOOLS_MTP_RUN_ELEMENTS_H

#include "mtp/tensor.h"
#include "runtime/core/Result.h"

#include <string_view>

namespace mtp {

bool isFloat(ElementType type);

/// Element `index` of a tensor. Integers of 64 bits may lose their low bits.
double elementAt(const Tensor &tensor, uint64_t index);

/// Element `index`, shortest text that reads back as the same bits.
std::string elementText(const Tensor &tensor, uint64_t index);

/// Appends the bytes of a number, e.g. "-3", "1.5e3", "true", "inf", "nan".
/// Narrow floats are rounded to nearest even. Fails when the text is no number
/// or does not fit the type.
Status appendElement(Tensor &tensor, std::string_view text);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_ELEMENTS_H
