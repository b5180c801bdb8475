//===- StoredTensor.cpp - A weight stored as codes and scales -------------===//

#include "compiler/Weights/StoredTensor.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mtp {

std::span<const float> float4Table() {
  static constexpr float kTable[16] = {0,    .5f,  1,  1.5f,  2,  3,  4,  6,
                                       -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
  return kTable;
}

std::span<const float> float8Table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values;
    for (unsigned i = 0; i < 256; ++i) {
      uint8_t code = uint8_t(i);
      decodeElements(WeightType::F8E4M3, &code, 1, &values[i]);
    }
    return values;
  }();
  return table;
}

int64_t StoredTensor::blockOf(int64_t col) const {
  if (!order)
    return col / scales.colBlock;
  uint32_t group;
  std::memcpy(&group, order + 4 * col, sizeof(group));
  // The groups have been checked, but the file may have changed since.
  return std::min<int64_t>(group, orderGroups - 1);
}

float StoredTensor::scaleAt(int64_t row, int64_t block) const {
  float scale;
  int64_t at = scales.place(row / rows(), row % rows(), block);
  decodeElements(scales.type, scales.bytes + at * (bitWidth(scales.type) / 8),
                 1, &scale);
  return divides ? scale / factor : scale * factor;
}

int StoredTensor::zeroAt(int64_t row, int64_t block) const {
  if (signedZeros)
    return int8_t(
               signedZeros[scales.place(row / rows(), row % rows(), block)]) +
           zeroShift;
  if (!zeros.bytes)
    return zeroShift;
  return (zeros.at(row, block) + zeroShift) & ((1 << zeros.bits) - 1);
}

void StoredTensor::read(int64_t row, int64_t col, int64_t count,
                        float *out) const {
  constexpr int64_t kRun = 256;
  uint8_t run[kRun];
  for (int64_t length; count > 0; col += length, out += length) {
    // Without an order, successive columns share a scale.
    int64_t block = blockOf(col);
    int64_t left = order ? 1 : (block + 1) * scales.colBlock - col;
    length = std::min({count, left, kRun});
    count -= length;
    codes.read(row, col, length, run);
    float scale = scaleAt(row, block);
    if (!table.empty()) {
      for (int64_t i = 0; i < length; ++i)
        out[i] = table[run[i]] * scale;
      continue;
    }
    int zero = zeroAt(row, block);
    for (int64_t i = 0; i < length; ++i)
      out[i] = float(run[i] - zero) * scale;
  }
}

std::optional<GroupForm> StoredTensor::groupForm() const {
  if (isFloat8() || order)
    return std::nullopt;
  GroupForm form;
  form.group = std::min(scales.colBlock, extents.back());
  form.bits = codes.bits;
  form.scaleType = factor == 1 ? scales.type : WeightType::F32;
  if (form.scaleType == WeightType::BF16)
    form.scaleType = WeightType::F32;
  form.isFloat4 = !table.empty();
  if (form.isFloat4) {
    // Twice a float has 4 bits and a sign.
    form.bits = 5;
    return form;
  }
  if (!hasZeros() && zeroShift == 1 << (codes.bits - 1))
    return form;
  // The product of a zero and a scale in f32 may need more than 24 bits. The
  // difference of code and zero is an integer with one more bit.
  bool isExact = factor == 1 && (scales.type == WeightType::F16 ||
                                 scales.type == WeightType::BF16);
  form.isSigned = !isExact || signedZeros;
  form.bits += form.isSigned ? 1 : 0;
  return form.bits <= 8 ? std::optional(form) : std::nullopt;
}

double StoredTensor::bits() const {
  double ofGroup = double(bitWidth(scales.type));
  if (hasZeros())
    ofGroup += signedZeros ? 8 : double(zeros.bits);
  double group =
      double(scales.rowBlock * std::min(scales.colBlock, extents.back()));
  return double(codes.bits) + ofGroup / group;
}

void StoredTensor::readCodes(int64_t row, int64_t col, int64_t count,
                             int64_t group, GroupCodes *groups,
                             int16_t *q) const {
  bool isSigned = groupForm()->isSigned;
  for (int64_t i = 0; i < count; i += group, ++groups) {
    int64_t length = std::min(group, count - i);
    int64_t block = blockOf(col + i);
    float scale = scaleAt(row, block);
    int zero = zeroAt(row, block);
    *groups = {scale};
    if (!table.empty())
      *groups = {scale * 0.5f};
    else if (!isSigned)
      *groups = {scale, scale, 1, zero};
    for (int64_t j = 0; j < length; ++j) {
      uint8_t code = codes.at(row, col + i + j);
      q[i + j] = !table.empty() ? int16_t(2 * table[code])
                 : isSigned     ? int16_t(code - zero)
                                : int16_t(code);
    }
  }
}

} // namespace mtp
