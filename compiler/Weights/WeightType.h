//===- WeightType.h - Element types of stored weights -----------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTTYPE_H
#define MTP_COMPILER_WEIGHTS_WEIGHTTYPE_H

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mtp {

/// Element types of safetensors and GGUF files. A header may contain each type
/// of its format; isReadable() tells which ones can be packed. The last types
/// have blocks of elements and occur in GGUF only.
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
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  NVFP4,
};

/// Returns the name in a file's header, e.g. "BF16" or "Q4_K".
std::string_view toString(WeightType type);

/// Returns the type of safetensors with this name, if there is one.
std::optional<WeightType> parseWeightType(std::string_view name);

/// Returns the number of bits of one element. The type must have no blocks.
unsigned bitWidth(WeightType type);

/// Return the number of elements of a block and its number of bytes. A type
/// without blocks has blocks of one element of whole bytes.
uint64_t blockElements(WeightType type);
uint64_t blockBytes(WeightType type);

/// Returns true if the type has blocks of several elements.
inline bool hasBlocks(WeightType type) { return blockElements(type) > 1; }

/// Returns true if decodeRun() supports the type for weights: BF16, F16, F32,
/// F8_E4M3 and types with blocks.
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
