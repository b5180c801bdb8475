//===- GgufBlocks.h - Block formats of GGUF tensors -------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
#define MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H

#include "compiler/Weights/WeightType.h"

namespace mtp {

/// Largest number of elements of a block.
inline constexpr int64_t kMostBlockElements = 256;

/// Decodes `count` whole blocks at `bytes` to f32. Each value equals the
/// format's definition, rounded at most once. The type must have blocks.
void decodeBlocks(WeightType type, const uint8_t *bytes, int64_t count,
                  float *out);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
