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

/// The index of the best logit, given the best ones of consecutive parts of the
/// vocabulary and their indices: what `sampleToken` picks for a greedy slot.
int32_t bestOfParts(std::span<const float> values,
                    std::span<const int32_t> indices);

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

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_SAMPLE_H
