//===- GgufBlocks.h - Block formats of GGUF tensors -------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
#define MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H

#include "compiler/Weights/GroupCodes.h"
#include "compiler/Weights/WeightType.h"
#include "runtime/schema/WeightFormat.h"

#include <optional>

namespace mtp {

/// Largest number of elements and of groups of a block.
inline constexpr int64_t kMostBlockElements = 256, kMostBlockGroups = 16;

/// Returns half of an unsigned E4M3 number; 127 is 0.
float halfOfE4M3(uint8_t bits);

/// Returns the smallest format that represents a type with blocks exactly.
std::optional<WeightFormat> formatOfBlocks(WeightType type);

/// Decodes one block of a type with blocks: its groups, of the size that
/// formatOfBlocks() gives, and its integers.
void decodeCodes(WeightType type, const uint8_t *block, GroupCodes *groups,
                 int16_t *q);

/// Widens the elements [first, first + count) of a tensor to f32. The first
/// block begins at `bytes`. The type must be readable as weights. Each value
/// equals the format's definition; values of blocks are rounded at most once.
void decodeRun(WeightType type, const uint8_t *bytes, int64_t first,
               int64_t count, float *out);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
