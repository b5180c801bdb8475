//===- Distributions.cpp - Inputs that are distributions ------------------===//

#include "runtime/exec/Distributions.h"
#include "runtime/core/StrCat.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace mtp;

static std::string numberText(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

/// Returns the index of a row: "[2, 0]" for row 6 of a 4x3xV tensor, "[]" for a
/// single distribution.
static std::string rowText(uint64_t row, const std::vector<uint64_t> &shape) {
  std::string text;
  for (size_t i = shape.size() - 1; i-- > 0; row /= shape[i])
    text = strCat(row % shape[i], text.empty() ? "" : ", ", text);
  return strCat("row [", text, "]");
}

/// Returns what is wrong with a distribution; empty if nothing is.
static std::string faultOf(const uint8_t *bytes, uint64_t columns) {
  double sum = 0;
  for (uint64_t i = 0; i < columns; ++i) {
    float share = 0;
    std::memcpy(&share, bytes + i * sizeof(share), sizeof(share));
    if (!std::isfinite(share) || share < 0)
      return strCat("expected finite numbers of 0 or more, got ",
                    numberText(share), " in column ", i);
    sum += share;
  }
  if (std::abs(sum - 1) <= kSumTolerance)
    return "";
  return strCat("expected a sum of 1 (", numberText(kSumTolerance),
                " off at most), got ", numberText(sum));
}

Status mtp::checkDistributions(const Tensor &tensor) {
  const std::vector<uint64_t> &shape = tensor.type.shape;
  if (tensor.type.element != ElementType::F32 || shape.empty())
    return invalidArgument(
        strCat("expected distributions of f32, got ", toString(tensor.type)));
  uint64_t columns = shape.back(), bytes = columns * sizeof(float);
  uint64_t rows = bytes > 0 ? tensor.bytes.size() / bytes : 0;
  for (uint64_t row = 0; row < rows; ++row) {
    std::string fault = faultOf(tensor.bytes.data() + row * bytes, columns);
    if (!fault.empty())
      return invalidArgument(strCat(rowText(row, shape), ": ", fault));
  }
  return okStatus();
}
