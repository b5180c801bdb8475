//===- Sample.h - One token from one row of logits --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_SAMPLE_H
#define MTP_RUNTIME_DEVICE_CPU_SAMPLE_H

#include "runtime/device/SamplingRow.h"
#include "runtime/device/cpu/SampleScan.h"

#include <cstdint>
#include <span>

namespace mtp {

/// Whether a slot takes the best token and no other.
inline bool isGreedy(const SamplingRow &sampling) {
  return !(sampling.temperature > 0);
}

/// The largest logit of a row and its token; -1 where no logit is larger than
/// -infinity.
struct BestLogit {
  float logit;
  int32_t token;
};

/// The best logit, given those of consecutive parts of the vocabulary and their
/// indices, and with it what a greedy slot picks. With `tokens`, an index is
/// where the token stands in them.
BestLogit bestOfParts(std::span<const float> values,
                      std::span<const int32_t> indices,
                      std::span<const int32_t> tokens = {});

/// Picks the token that goes to `position`. A pure function of its arguments:
/// the same at any k, batch and thread count, and on every machine. Among
/// equals the lowest token wins, NaN and -inf never win; -1 when nothing can.
///
/// `tokens` gives the token of each logit; empty: its place. It decides which
/// noise a logit gets (SampleMath.h), so that a drafter over a part of the
/// vocabulary draws with the noise of the target.
///
/// Filters apply in the order temperature, top-k, top-p, min-p; then the pick
/// is the largest of scaled logit plus Gumbel noise, which draws from the
/// softmax. The best token passes every filter. `scratch` is room for as many
/// words as there are logits; only top-k and top-p use it. A vocabulary may be
/// of 2^24 tokens: sums of more weights would not fit into 64 bits.
int32_t sampleToken(std::span<const float> logits,
                    std::span<const int32_t> tokens,
                    const SamplingRow &sampling, int32_t position,
                    std::span<uint64_t> scratch,
                    const SampleKernels &kernels = *sampleKernels().front());

/// The same where the best logit is known.
int32_t sampleToken(const SampleInput &input, const SamplingRow &sampling,
                    int32_t position, BestLogit best,
                    std::span<uint64_t> scratch,
                    const SampleKernels &kernels = *sampleKernels().front());

/// The same in two steps, so that threads share a row: each stretch of
/// kSampleStretch logits leaves kSampleBuckets buckets, in any order and on any
/// thread; those of all stretches, one behind the other, give the token.
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
