//===- Sample.h - One token from one row of logits --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_SAMPLE_H
#define MTP_RUNTIME_DEVICE_CPU_SAMPLE_H

#include "runtime/device/SamplingRow.h"
#include "runtime/device/cpu/SampleScan.h"

#include <cstdint>
#include <span>

namespace mtp {

/// Whether a slot always takes the best token.
inline bool isGreedy(const SamplingRow &sampling) {
  return !(sampling.temperature > 0);
}

/// The largest logit of a row and its token; -1 if no logit is larger than
/// -infinity.
struct BestLogit {
  float logit;
  int32_t token;
};

/// Returns the best logit and the pick of a greedy slot, from the best logits
/// and indices of consecutive parts of the vocabulary. With `tokens`, an index
/// is a position in `tokens`.
BestLogit bestOfParts(std::span<const float> values,
                      std::span<const int32_t> indices,
                      std::span<const int32_t> tokens = {});

/// Picks the token for `position`. A pure function of its arguments: the same
/// at any k, batch and thread count, and on every machine. Among equals the
/// lowest token wins; NaN and -inf never win; -1 if no token can win.
///
/// `tokens` has the token of each logit; empty: the index is the token. The
/// token decides the noise of a logit (SampleMath.h), so that a drafter with a
/// part of the vocabulary draws with the noise of the target.
///
/// Filters apply in the order temperature, top-k, top-p, min-p. The pick is
/// then the largest scaled logit plus Gumbel noise, which draws from the
/// softmax. The best token passes every filter. `scratch` has one word per
/// logit; only top-k and top-p use it. A vocabulary may have 2^24 tokens: sums
/// of more weights would not fit into 64 bits.
int32_t sampleToken(std::span<const float> logits,
                    std::span<const int32_t> tokens,
                    const SamplingRow &sampling, int32_t position,
                    std::span<uint64_t> scratch,
                    const SampleKernels &kernels = *sampleKernels().front());

/// Picks as above, if the best logit is already known.
int32_t sampleToken(const SampleInput &input, const SamplingRow &sampling,
                    int32_t position, BestLogit best,
                    std::span<uint64_t> scratch,
                    const SampleKernels &kernels = *sampleKernels().front());

/// The tokens of a row that pass the filters, from which a pick is drawn.
struct KeptTokens {
  /// The best logit, and the factor of distances from it (SampleMath.h).
  BestLogit best;
  float perTemperature = 1;
  /// Sum of the weights of the kept tokens, in units of 2^-40.
  uint64_t weight = 0;
  /// The last kept token in the order of filters (SampleKernels), and the
  /// minimum weight of a kept token.
  uint64_t last = ~uint64_t(0);
  uint64_t leastWeight = 0;

  /// Whether a token with this logit is kept.
  bool has(float logit, uint32_t token) const;
};

/// Returns the tokens that pass the filters of a slot that is not greedy. The
/// best logit must be finite. `scratch` has one word per logit.
KeptTokens keptTokens(std::span<const float> logits,
                      const SamplingRow &sampling, std::span<uint64_t> scratch,
                      const SampleKernels &kernels = *sampleKernels().front());

/// Returns the largest logit of a row and its lowest token.
BestLogit bestLogitOf(std::span<const float> logits);

/// Picks in two steps, so that threads share a row. Each stretch of
/// kSampleStretch logits gives kSampleBuckets buckets, in any order and on any
/// thread. The buckets of all stretches, in order, give the token.
void scanStretch(const SampleInput &input, const SamplingRow &sampling,
                 int32_t position, BestLogit best, size_t stretch,
                 std::span<SampleBucket> buckets,
                 const SampleKernels &kernels = *sampleKernels().front());
int32_t joinStretches(const SampleInput &input, const SamplingRow &sampling,
                      int32_t position, BestLogit best,
                      std::span<const SampleBucket> stretches,
                      std::span<uint64_t> scratch,
                      const SampleKernels &kernels = *sampleKernels().front());

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_SAMPLE_H
