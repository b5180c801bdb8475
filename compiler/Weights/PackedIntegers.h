//===- PackedIntegers.h - Integers of a few bits in words -------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_PACKEDINTEGERS_H
#define MTP_COMPILER_WEIGHTS_PACKEDINTEGERS_H

#include <cstdint>
#include <cstring>

namespace mtp {

/// Unsigned integers of 2 to 8 bits for the rows and columns of a matrix. The
/// integers of a line, which is a row or a column, are a stream of bits: first
/// the least bit of the first word. A word has 32 bits in little endian.
struct PackedIntegers {
  const uint8_t *bytes = nullptr; ///< Null: no integers.
  int64_t bits = 8;
  /// True if a line is a column.
  bool runsAlongRows = false;
  /// True if each 8 integers of a line are in the order 0 2 4 6 1 3 5 7.
  bool isInterleaved = false;
  /// True if integers are bytes in two's complement; 128 is added to them.
  bool hasSign = false;
  /// Words from a word of a line to the next one. 0: lines are bytes without
  /// padding, each with an integer of 8 bits or two of 4 bits.
  int64_t wordPitch = 1;
  /// Words from a line to the next one; bytes if `wordPitch` is 0.
  int64_t linePitch = 0;

  /// Returns the integer at a row and a column.
  uint8_t at(int64_t row, int64_t col) const;
  /// Reads `count` integers of a row from `col` on.
  void read(int64_t row, int64_t col, int64_t count, uint8_t *out) const;

private:
  uint32_t word(int64_t line, int64_t number) const;
};

inline uint32_t PackedIntegers::word(int64_t line, int64_t number) const {
  const uint8_t *at = bytes + 4 * (line * linePitch + number * wordPitch);
  return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 |
         uint32_t(at[3]) << 24;
}

inline uint8_t PackedIntegers::at(int64_t row, int64_t col) const {
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

inline void PackedIntegers::read(int64_t row, int64_t col, int64_t count,
                                 uint8_t *out) const {
  if (wordPitch == 0 && bits == 8 && !hasSign && !runsAlongRows) {
    std::memcpy(out, bytes + row * linePitch + col, size_t(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    out[i] = at(row, col + i);
}

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACKEDINTEGERS_H
