//===- GgufBlocks.h - Block formats of GGUF tensors -------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
#define MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H

#include "compiler/Weights/WeightType.h"

namespace mtp {

/// Widens the elements [first, first + count) of a tensor to f32. The first
/// block begins at `bytes`. The type must be readable as weights. Each value
/// equals the format's definition; values of blocks are rounded at most once.
void decodeRun(WeightType type, const uint8_t *bytes, int64_t first,
               int64_t count, float *out);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFBLOCKS_H
