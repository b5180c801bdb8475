//===- PackedIntegers.cpp - Integers of a few bits in words ---------------===//

#include "compiler/Weights/PackedIntegers.h"

#include <cstring>

namespace mtp {

uint32_t PackedIntegers::word(int64_t line, int64_t number) const {
  const uint8_t *at = bytes + 4 * (line * linePitch + number * wordPitch);
  return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 |
         uint32_t(at[3]) << 24;
}

uint8_t PackedIntegers::at(int64_t row, int64_t col) const {
  int64_t line = runsAlongRows ? col : row, place = runsAlongRows ? row : col;
  if (wordPitch == 0) {
    uint8_t byte = bytes[line * linePitch + place * bits / 8];
    return bits == 8 ? byte ^ (hasSign ? 0x80 : 0) : byte >> place % 2 * 4 & 15;
  }
  constexpr int kPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  if (isInterleaved)
    place = place - place % 8 + kPlaces[place % 8];
  int64_t bit = place * bits, number = bit / 32, shift = bit % 32;
  uint32_t value = word(line, number) >> shift;
  if (shift + bits > 32)
    value |= word(line, number + 1) << (32 - shift);
  return uint8_t(value & ((1u << bits) - 1));
}

void PackedIntegers::read(int64_t row, int64_t col, int64_t count,
                          uint8_t *out) const {
  if (wordPitch == 0 && bits == 8 && !hasSign && !runsAlongRows) {
    std::memcpy(out, bytes + row * linePitch + col, size_t(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    out[i] = at(row, col + i);
}

} // namespace mtp
