//===- SampleMath.h - Noise and weight of a token, on a GPU -----*- C++ -*-===//
//
// The definitions of runtime/device/cpu/SampleMath.h, operation by operation,
// so that every target picks the same tokens. Functions have the names of the
// definitions. Integers are i32 for 32 bits there, and i64 for 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEMATH_H
#define MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEMATH_H

#include "compiler/Codegen/GPU/GpuBuilder.h"
#include <array>

namespace mtp::codegen {

/// Values that all tokens of a row share. They are uniform.
struct SampleLaw {
  /// f32: the best logit, and 1 / temperature.
  Value best, perTemperature;
  /// i64: the smallest weight that min-p allows, and the pick of the best
  /// token.
  Value leastWeight, bestPick;
  /// i32.
  Value seedLow, seedHigh, position;
};

class SampleMath {
public:
  static constexpr float kFarDistance = 28, kMaxNoise = 22.88f;
  /// Index of the first bucket, which begins at a distance of 2^-8; an octave
  /// has 8 buckets.
  static constexpr int64_t kFirstBucket = int64_t(127 - 8) * 8,
                           kFarBucket = 102;
  static constexpr int64_t kBuckets = kFarBucket + 1;

  explicit SampleMath(GpuBuilder &kb) : kb(kb) {}

  //===--- A token --------------------------------------------------------===//

  Value orderOf(Value value);
  Value valueOf(Value order);
  /// Packs key and token into an i64 that orders by key, then the lower token
  /// first.
  Value packPick(Value key, Value token);
  Value keyOfPick(Value pick);
  Value tokenOfPick(Value pick) { return bitNot(low(pick)); }
  /// Packs logit and token into an i64 in the order of filters: the larger
  /// logit, then the lower token.
  Value packElement(Value logit, Value token);
  Value logitOfElement(Value element);
  Value tokenOfElement(Value element) { return low(element); }

  Value distanceOf(const SampleLaw &law, Value logit);
  Value weightOf(Value distance);
  /// Returns the bucket of a distance (i64).
  Value bucketOf(Value distance);
  /// Returns the four words of a block of tokens.
  std::array<Value, 4> drawWords(const SampleLaw &law, Value block);
  Value gumbelNoise(Value word);
  Value noiseOf(const SampleLaw &law, Value token);
  /// Returns the pick of a token with this word and distance, or 0 if min-p
  /// drops the token.
  Value pickOf(const SampleLaw &law, Value word, Value token, Value distance);
  /// Selects one of four words by the token's last bits.
  Value wordOf(const std::array<Value, 4> &words, Value token);

  //===--- Integers -------------------------------------------------------===//

  Value i32(uint32_t value);
  Value bitXor(Value a, Value b);
  Value bitNot(Value a);
  /// Compare unsigned integers.
  Value less(Value a, Value b);
  Value atMost(Value a, Value b);
  Value larger(Value a, Value b) { return kb.select(less(a, b), b, a); }
  Value smaller(Value a, Value b) { return kb.select(less(a, b), a, b); }
  Value low(Value wide) { return kb.truncate(wide, kb.i32Type()); }
  Value high(Value wide) { return low(kb.shiftRight(wide, kb.integer(32))); }
  Value join(Value high, Value low);
  Value toInteger(Value real, mlir::Type type);
  /// Returns the largest, or the smallest, value of all threads.
  Value largestOf(Value value);
  Value smallestOf(Value value);

private:
  GpuBuilder &kb;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEMATH_H
