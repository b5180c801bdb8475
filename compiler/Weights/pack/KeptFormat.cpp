//===- KeptFormat.cpp - Formats that keep stored weights ------------------===//

#include "compiler/Weights/pack/KeptFormat.h"

#include <algorithm>

namespace mtp {

std::optional<WeightFormat> plainFormatOf(const WeightFormat &format) {
  if (format.hasOffset || format.group % kQuantGroupStep != 0)
    return std::nullopt;
  bool isSmall = integerBits(format) <= 4;
  return WeightFormat{isSmall ? WeightElements::Int4 : WeightElements::Int8,
                      format.group};
}

std::optional<WeightFormat> keptFormatOf(const WeightStack &stack) {
  std::optional<WeightFormat> common;
  for (const std::vector<WeightRows> &matrix : stack)
    for (const WeightRows &rows : matrix) {
      std::optional<WeightFormat> own = rows.keptFormat();
      if (!own)
        return std::nullopt;
      common = common ? commonFormat(*common, *own) : *own;
    }
  return common;
}

void readCodes(const WeightRows &rows, int64_t row, int64_t col, int64_t count,
               const WeightFormat &format, PanelCodes &codes, int64_t output) {
  WeightFormat own = rows.formatOfRow(row);
  GroupCodes groups[kMostBlockGroups];
  rows.readCodes(row, col, count, groups, codes.q[output]);
  // Signed integers become unsigned in a format with offsets.
  bool becomesUnsigned = format.hasOffset && !own.hasOffset;
  int bias = becomesUnsigned ? 1 << (integerBits(own) - 1) : 0;
  for (int64_t i = 0; i < count && bias != 0; ++i)
    codes.q[output][i] = int16_t(codes.q[output][i] + bias);
  for (int64_t g = 0; g * format.group < count; ++g) {
    GroupCodes group = groups[g * format.group / own.group];
    if (bias != 0) {
      group.least = group.scale * float(bias);
      group.ofLeast = group.ofScale;
    }
    codes.groups[output][g] = group;
  }
}

} // namespace mtp
