//===- Compare.cpp - Compare results with expected ones -------------------===//

#include "tools/mtp-run/Compare.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/tensors/Elements.h"

#include <algorithm>
#include <cmath>

using namespace mtp;

/// Formats the index of a flat element as "[1, 2]".
static std::string indexText(const TensorType &type, uint64_t index) {
  std::string text;
  for (size_t d = type.shape.size(); d-- > 0;) {
    text = strCat(index % type.shape[d], text.empty() ? "" : ", ", text);
    index /= type.shape[d];
  }
  return strCat("[", text, "]");
}

static bool isClose(double expected, double got, double tolerance) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got);
  if (expected == got)
    return true;
  return std::fabs(got - expected) <=
         tolerance * std::max(1.0, std::fabs(expected));
}

Status mtp::compareTensors(const Tensor &expected, const Tensor &got,
                           double tolerance) {
  if (expected.type != got.type)
    return failedPrecondition(strCat("expected ", toString(expected.type),
                                     ", got ", toString(got.type)));
  uint64_t count = elementCount(got.type), wrong = 0, first = 0;
  for (uint64_t i = count; i-- > 0;)
    if (!isClose(elementAt(expected, i), elementAt(got, i), tolerance)) {
      ++wrong;
      first = i;
    }
  if (wrong == 0)
    return okStatus();
  return failedPrecondition(strCat("element ", indexText(got.type, first),
                                   ": expected ", elementText(expected, first),
                                   ", got ", elementText(got, first), " (",
                                   wrong, " of ", count, " elements differ)"));
}
