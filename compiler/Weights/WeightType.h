//===- WeightType.h - Element types of stored weights -----------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTTYPE_H
#define MTP_COMPILER_WEIGHTS_WEIGHTTYPE_H

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mtp {

/// Element types of a safetensors file. A header may contain each of them;
/// isReadable() tells which ones can be packed.
enum class WeightType : uint8_t {
  Bool,
  F4,
  F6E2M3,
  F6E3M2,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
};

/// Returns the name in a safetensors header, e.g. "BF16".
std::string_view toString(WeightType type);

/// Returns the type with this name, if there is one.
std::optional<WeightType> parseWeightType(std::string_view name);

/// Returns the number of bits of one element.
unsigned bitWidth(WeightType type);

/// Returns true if decodeElements() supports the type for weights: BF16, F16,
/// F32 and F8_E4M3.
bool isReadable(WeightType type);

/// Returns true if decodeElements() supports the type for scales: BF16, F16,
/// F32, and F8_E8M0, which is the exponent of a power of two.
bool isReadableScale(WeightType type);

/// Widens `count` elements at `bytes` to f32, exactly. `bytes` needs no
/// alignment. The type must be readable as weights or as scales.
void decodeElements(WeightType type, const uint8_t *bytes, int64_t count,
                    float *out);

/// Rounds to nearest, ties to even. A NaN becomes a quiet NaN.
inline uint16_t roundToBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t quiet = uint16_t(bits >> 16 | 0x40);
  uint16_t rounded = uint16_t((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
  return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
}

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTTYPE_H
