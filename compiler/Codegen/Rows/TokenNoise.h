//===- TokenNoise.h - Noise of a token in a row -----------------*- C++ -*-===//
//
// The part of runtime/device/cpu/SampleMath.h and Philox.h that computes noise,
// operation by operation. The token that sampling picks therefore has the
// largest key on every target. Lanes are i32 and f32.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_TOKENNOISE_H
#define MTP_COMPILER_CODEGEN_ROWS_TOKENNOISE_H

#include "compiler/Codegen/KernelBuilder.h"
#include <array>

namespace mtp::codegen {

/// Inputs of the noise of a row's tokens; each is one number in all lanes.
/// `number` is 0 for the noise of the position itself.
struct NoiseKey {
  Value seedLow, seedHigh, position, number;
};

/// Returns the four words of a block of tokens.
std::array<Value, 4> emitNoiseWords(KernelBuilder &kb, const NoiseKey &key,
                                    Value block);
/// Returns the word of a token among four words.
Value emitWordOf(KernelBuilder &kb, const std::array<Value, 4> &words,
                 Value token);
/// Returns the standard Gumbel noise of a word.
Value emitGumbel(KernelBuilder &kb, Value word);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_TOKENNOISE_H
