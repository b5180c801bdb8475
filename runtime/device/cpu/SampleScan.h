//===- SampleScan.h - The loops over a row's tokens -------------*- C++ -*-===//
//
// The vectorized work of sampling for every token of a row. The loops exist for
// several instruction sets and give the same bits in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CPU_SAMPLESCAN_H
#define MTP_RUNTIME_DEVICE_CPU_SAMPLESCAN_H

#include "runtime/schema/SamplingLayout.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace mtp {

/// A row of logits.
struct SampleInput {
  std::span<const float> logits;
  /// The token of each column; empty: its index.
  std::span<const int32_t> tokens;

  uint32_t token(size_t column) const {
    return tokens.empty() ? uint32_t(column) : uint32_t(tokens[column]);
  }
};

/// Values that all tokens of a row share.
struct SampleLaw {
  /// The largest logit, never -0.
  float best;
  float perTemperature;
  /// The minimum weight of a token: min-p.
  uint64_t leastWeight;
  uint32_t seedLow, seedHigh, position;
  /// Whether a filter (top-k or top-p) compares tokens with each other, so that
  /// buckets are needed.
  bool usesBuckets;
  /// The pick (SampleMath.h) of the best token, which every filter keeps.
  uint64_t bestPick;
};

/// The tokens whose distances have the same leading bits. Buckets are in the
/// order of logits; the tokens in a bucket are not.
struct SampleBucket {
  uint64_t weight;
  uint64_t count;
  /// The best pick of the tokens that min-p keeps, or one that loses against
  /// `bestPick`; 0 if there is none.
  uint64_t pick;
};

/// An octave of distances has 8 buckets, and the first octave begins at 2^-8.
/// The last bucket has the far tokens; its contents are never used.
inline constexpr int kBucketsPerOctave = 8;
inline constexpr uint32_t kFirstBucket = (127 - 8) * kBucketsPerOctave;
inline constexpr int kFarBucket = 102;
inline constexpr int kSampleBuckets = kFarBucket + 1;
static_assert(sizeof(SampleBucket) * kSampleBuckets == kSampleStretchWords * 4);

/// Number of columns that are processed at once; a scan begins at a multiple.
inline constexpr size_t kSampleLanes = 64;
static_assert(kSampleStretch % kSampleLanes == 0);

/// The loops in one instruction set. An element is a token in the order of
/// filters: the larger logit first, then the lower token. The high half is the
/// inverted order of its logit (SampleMath.h), the low half the token.
struct SampleKernels {
  const char *name;
  /// Returns the best pick of columns [begin, end). If buckets are needed, adds
  /// the columns to them instead.
  uint64_t (*scan)(const SampleLaw &law, const SampleInput &input, size_t begin,
                   size_t end, SampleBucket *buckets);
  /// Writes the elements of a bucket, in order of columns. Returns their
  /// number.
  size_t (*gather)(const SampleLaw &law, const SampleInput &input,
                   uint32_t bucket, uint64_t *elements);
  /// Writes the weights of up to kSampleLanes elements.
  void (*weigh)(const SampleLaw &law, std::span<const uint64_t> elements,
                uint64_t *weights);
  /// Returns the best pick of the elements up to `last`, in their order.
  uint64_t (*pick)(const SampleLaw &law, std::span<const uint64_t> elements,
                   uint64_t last);
};

/// Returns the kernels that this processor can run, fastest first.
std::span<const SampleKernels *const> sampleKernels();

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_SAMPLESCAN_H
