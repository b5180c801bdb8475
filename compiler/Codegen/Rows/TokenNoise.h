//===- TokenNoise.h - The noise of a token in a row -------------*- C++ -*-===//
//
// The part of runtime/device/cpu/SampleMath.h and Philox.h that picks go by,
// operation by operation: what sampling picks, keys have as their largest, on
// every target. Lanes are i32 and f32.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_TOKENNOISE_H
#define COMPILER_CODEGEN_ROWS_TOKENNOISE_H

#include "compiler/Codegen/KernelBuilder.h"
#include <array>

namespace mtp::codegen {

/// What the noise of a row's tokens goes by; lanes of one number. `number` is
/// 0 for the noise of the position itself.
struct NoiseKey {
  Value seedLow, seedHigh, position, number;
};

/// The four words of a block of tokens.
std::array<Value, 4> emitNoiseWords(KernelBuilder &kb, const NoiseKey &key,
                                    Value block);
/// The one of four words that is a token's.
Value emitWordOf(KernelBuilder &kb, const std::array<Value, 4> &words,
                 Value token);
/// Standard Gumbel noise of a word.
Value emitGumbel(KernelBuilder &kb, Value word);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_TOKENNOISE_H
