//===- Sample.cpp - One token from one row of logits ----------------------===//
//
// A scan of the row finds the largest key. If top-k or top-p compare tokens
// with each other, the scan also sorts tokens into buckets by their distance
// from the best logit. Sums of counts or weights tell which bucket has a
// filter's boundary. Only the tokens of that bucket are put in order. All sums
// are of integers, so that a row may be scanned in any parts.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mtp;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Returns the largest logit, or -infinity. Comparisons with NaN are false.
static float largest(std::span<const float> logits) {
  // Independent maxima, so that the compiler uses vectors.
  constexpr size_t kLanes = 32;
  float most[kLanes];
  std::fill(most, most + kLanes, -kInfinity);
  size_t whole = logits.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t j = 0; j < kLanes; ++j)
      most[j] = logits[i + j] > most[j] ? logits[i + j] : most[j];
  float value = -kInfinity;
  for (float candidate : most)
    value = std::max(value, candidate);
  for (float candidate : logits.subspan(whole))
    value = candidate > value ? candidate : value;
  return value;
}

/// Returns the first index of the largest logit, or -1 if none is larger than
/// -infinity.
static int32_t argmax(std::span<const float> logits) {
  float value = largest(logits);
  if (!(value > -kInfinity))
    return -1;
  return int32_t(std::find(logits.begin(), logits.end(), value) -
                 logits.begin());
}

/// Returns the largest logit and its lowest token.
static BestLogit bestOfRow(const SampleInput &input) {
  BestLogit best = {largest(input.logits), -1};
  if (!(best.logit > -kInfinity))
    return best;
  uint32_t token = ~uint32_t(0);
  for (size_t i = 0; i < input.logits.size(); ++i)
    if (input.logits[i] == best.logit) {
      token = std::min(token, input.token(i));
      if (input.tokens.empty())
        break;
    }
  best.token = int32_t(token);
  return best;
}

/// Returns the last element, in order, of the shortest run whose sizes reach
/// `goal`. Sizes are weights or, without `kernels`, one each. Permutes the
/// elements.
static uint64_t lastOfRun(const SampleLaw &law, std::span<uint64_t> elements,
                          uint64_t goal, const SampleKernels *kernels) {
  constexpr int kBits = 8;
  for (;;) {
    auto [low, high] = std::minmax_element(elements.begin(), elements.end());
    if (*low == *high)
      return *low;
    int shift = std::max(int(std::bit_width(*low ^ *high)) - kBits, 0);
    uint64_t sums[1 << kBits] = {}, first = *low >> shift, bin = 0;
    uint64_t sizes[kSampleLanes];
    std::fill_n(sizes, kSampleLanes, 1);
    for (size_t i = 0; i < elements.size(); i += kSampleLanes) {
      size_t count = std::min(kSampleLanes, elements.size() - i);
      if (kernels)
        kernels->weigh(law, elements.subspan(i, count), sizes);
      for (size_t j = 0; j < count; ++j)
        sums[(elements[i + j] >> shift) - first] += sizes[j];
    }
    for (uint64_t end = *high >> shift; sums[bin] < goal && first + bin < end;)
      goal -= sums[bin++];
    auto end =
        std::partition(elements.begin(), elements.end(), [=](uint64_t element) {
          return element >> shift == first + bin;
        });
    elements = elements.first(size_t(end - elements.begin()));
  }
}

namespace {
/// The kept tokens of a scanned row: all tokens in the buckets before `bucket`,
/// and the elements of that bucket up to `last`.
class Cut {
public:
  Cut(const SampleLaw &law, const SampleInput &input,
      std::span<const SampleBucket> buckets, std::span<uint64_t> scratch,
      const SampleKernels &kernels)
      : law(law), input(input), buckets(buckets), scratch(scratch),
        kernels(kernels) {}

  void keepTopK(uint64_t count) { keep(count, &SampleBucket::count); }
  void keepTopP(float share);

  /// Returns the best pick of the kept tokens.
  uint64_t pick() const;
  uint64_t keptWeight() const;
  /// Returns the last kept element.
  uint64_t lastKept() const { return bucket < kFarBucket ? last : ~0ull; }

private:
  void keep(uint64_t goal, uint64_t SampleBucket::*size);

  const SampleLaw &law;
  const SampleInput &input;
  std::span<const SampleBucket> buckets;
  std::span<uint64_t> scratch;
  const SampleKernels &kernels;
  uint32_t bucket = kFarBucket;
  std::span<uint64_t> elements;
  uint64_t last = 0;
};
} // namespace

/// Keeps the shortest run whose sizes reach `goal`, or all.
void Cut::keep(uint64_t goal, uint64_t SampleBucket::*size) {
  // A bucket that is kept in part is large enough, and so is the kept part.
  for (uint32_t i = 0; i <= bucket && i < kFarBucket; ++i) {
    if (buckets[i].*size < goal) {
      goal -= buckets[i].*size;
      continue;
    }
    if (i != bucket)
      elements = scratch.first(kernels.gather(law, input, i, scratch.data()));
    bucket = i;
    // Buckets that do not match this row come from a damaged file.
    if (!elements.empty())
      last = lastOfRun(law, elements, goal,
                       size == &SampleBucket::weight ? &kernels : nullptr);
    return;
  }
}

uint64_t Cut::keptWeight() const {
  uint64_t sum = 0, weights[kSampleLanes];
  for (uint32_t i = 0; i < bucket; ++i)
    sum += buckets[i].weight;
  for (size_t i = 0; i < elements.size(); i += kSampleLanes) {
    size_t count = std::min(kSampleLanes, elements.size() - i);
    kernels.weigh(law, elements.subspan(i, count), weights);
    for (size_t j = 0; j < count; ++j)
      sum += elements[i + j] <= last ? weights[j] : 0;
  }
  return sum;
}

/// Keeps the shortest run of tokens, likeliest first, whose share of the kept
/// weight reaches `share`, in units of 2^-32 rounded down.
void Cut::keepTopP(float share) {
  constexpr uint64_t kLow = 0xffffffff;
  uint64_t units = uint64_t(std::max(share, 0.0f) * 0x1p32f);
  uint64_t weight = keptWeight();
  uint64_t goal =
      (weight >> 32) * units + (((weight & kLow) * units + kLow) >> 32);
  keep(std::max<uint64_t>(goal, 1), &SampleBucket::weight);
}

uint64_t Cut::pick() const {
  uint64_t best = kernels.pick(law, elements, last);
  for (uint32_t i = 0; i < bucket; ++i)
    best = std::max(best, buckets[i].pick);
  return best;
}

/// Returns the smallest weight that min-p keeps.
static uint64_t leastWeight(float minP) {
  if (!(minP > 0))
    return 0;
  float weight = std::min(minP, 1.0f) * float(kFullWeight);
  uint64_t whole = uint64_t(weight);
  return whole + (float(whole) < weight);
}

static SampleLaw makeLaw(const SamplingRow &sampling, int32_t position,
                         BestLogit best) {
  uint32_t token = uint32_t(best.token);
  SampleLaw law = {};
  law.best = best.logit + 0.0f;
  law.perTemperature =
      std::min(1.0f / sampling.temperature, std::numeric_limits<float>::max());
  law.leastWeight = leastWeight(sampling.minP);
  law.seedLow = sampling.seedLow;
  law.seedHigh = sampling.seedHigh;
  law.position = uint32_t(position);
  law.usesBuckets = sampling.topK > 0 || sampling.topP < 1;
  auto words = philox4x32({law.position, kSamplePurpose, token >> 2, 0},
                          {law.seedLow, law.seedHigh});
  law.bestPick = packPick(gumbelNoise(words[token & 3]), token);
  return law;
}

/// Returns the token of the best pick that passes the filters.
static int32_t pickToken(const SampleLaw &law, const SampleInput &input,
                         const SamplingRow &sampling,
                         std::span<const SampleBucket> buckets,
                         std::span<uint64_t> scratch,
                         const SampleKernels &kernels) {
  Cut cut(law, input, buckets, scratch, kernels);
  if (sampling.topK > 0)
    cut.keepTopK(uint64_t(sampling.topK));
  if (sampling.topP < 1)
    cut.keepTopP(sampling.topP);
  return int32_t(~uint32_t(cut.pick()));
}

/// Whether a token is drawn at random.
static bool isDrawn(BestLogit best, const SamplingRow &sampling) {
  return best.token >= 0 && !isGreedy(sampling) && best.logit != kInfinity;
}

BestLogit mtp::bestOfParts(std::span<const float> values,
                           std::span<const int32_t> indices,
                           std::span<const int32_t> tokens) {
  int32_t part = argmax(values);
  if (part < 0)
    return {-kInfinity, -1};
  int32_t index = indices[size_t(part)];
  if (!tokens.empty())
    index = tokens[size_t(std::clamp<int64_t>(index, 0, tokens.size() - 1))];
  return {values[size_t(part)], index};
}

int32_t mtp::sampleToken(const SampleInput &input, const SamplingRow &sampling,
                         int32_t position, BestLogit best,
                         std::span<uint64_t> scratch,
                         const SampleKernels &kernels) {
  if (!isDrawn(best, sampling))
    return best.token;
  SampleLaw law = makeLaw(sampling, position, best);
  SampleBucket buckets[kSampleBuckets] = {};
  uint64_t pick = kernels.scan(law, input, 0, input.logits.size(), buckets);
  return law.usesBuckets
             ? pickToken(law, input, sampling, buckets, scratch, kernels)
             : int32_t(~uint32_t(pick));
}

int32_t mtp::sampleToken(std::span<const float> logits,
                         std::span<const int32_t> tokens,
                         const SamplingRow &sampling, int32_t position,
                         std::span<uint64_t> scratch,
                         const SampleKernels &kernels) {
  const SampleInput input = {logits, tokens};
  return sampleToken(input, sampling, position, bestOfRow(input), scratch,
                     kernels);
}

void mtp::scanStretch(const SampleInput &input, const SamplingRow &sampling,
                      int32_t position, BestLogit best, size_t stretch,
                      std::span<SampleBucket> buckets,
                      const SampleKernels &kernels) {
  if (!isDrawn(best, sampling))
    return;
  SampleLaw law = makeLaw(sampling, position, best);
  if (law.usesBuckets)
    std::fill(buckets.begin(), buckets.end(), SampleBucket());
  size_t begin = stretch * kSampleStretch;
  size_t end = std::min(begin + kSampleStretch, input.logits.size());
  uint64_t pick = kernels.scan(law, input, begin, end, buckets.data());
  if (!law.usesBuckets)
    buckets[0].pick = pick;
}

int32_t mtp::joinStretches(const SampleInput &input,
                           const SamplingRow &sampling, int32_t position,
                           BestLogit best,
                           std::span<const SampleBucket> stretches,
                           std::span<uint64_t> scratch,
                           const SampleKernels &kernels) {
  if (!isDrawn(best, sampling))
    return best.token;
  SampleLaw law = makeLaw(sampling, position, best);
  SampleBucket sums[kSampleBuckets] = {};
  int used = law.usesBuckets ? kSampleBuckets : 1;
  for (; !stretches.empty(); stretches = stretches.subspan(kSampleBuckets))
    for (int i = 0; i < used; ++i) {
      sums[i].weight += stretches[i].weight;
      sums[i].count += stretches[i].count;
      sums[i].pick = std::max(sums[i].pick, stretches[i].pick);
    }
  return law.usesBuckets
             ? pickToken(law, input, sampling, sums, scratch, kernels)
             : int32_t(~uint32_t(sums[0].pick));
}

//===----------------------------------------------------------------------===//
// Kept tokens
//===----------------------------------------------------------------------===//

BestLogit mtp::bestLogitOf(std::span<const float> logits) {
  return bestOfRow({logits, {}});
}

/// Returns a token's place in the order of filters (SampleKernels).
static uint64_t elementOf(float logit, uint32_t token) {
  return uint64_t(~orderOf(logit)) << 32 | token;
}

/// Returns a token's distance from the best one, at most kFarDistance.
static float distanceOf(const KeptTokens &kept, float logit) {
  float distance = (kept.best.logit - logit) * kept.perTemperature;
  return distance < kFarDistance ? std::max(distance, 0.0f) : kFarDistance;
}

bool KeptTokens::has(float logit, uint32_t token) const {
  if (int32_t(token) == best.token)
    return true;
  return elementOf(logit, token) <= last &&
         weightOf(distanceOf(*this, logit)) >= leastWeight;
}

KeptTokens mtp::keptTokens(std::span<const float> logits,
                           const SamplingRow &sampling,
                           std::span<uint64_t> scratch,
                           const SampleKernels &kernels) {
  const SampleInput input = {logits, {}};
  KeptTokens kept;
  kept.best = bestOfRow(input);
  SampleLaw law = makeLaw(sampling, /*position=*/0, kept.best);
  law.usesBuckets = true;
  // No noise reaches this pick, so that none is drawn.
  law.bestPick = packPick(kInfinity, 0);
  kept.perTemperature = law.perTemperature;
  kept.best.logit = law.best;
  SampleBucket buckets[kSampleBuckets] = {};
  kernels.scan(law, input, 0, logits.size(), buckets);
  Cut cut(law, input, buckets, scratch, kernels);
  if (sampling.topK > 0)
    cut.keepTopK(uint64_t(sampling.topK));
  if (sampling.topP < 1)
    cut.keepTopP(sampling.topP);
  kept.last = cut.lastKept();
  kept.weight = cut.keptWeight();
  kept.leastWeight = law.leastWeight;
  if (law.leastWeight == 0)
    return kept;
  kept.weight = 0;
  for (size_t token = 0; token < logits.size(); ++token)
    if (kept.has(logits[token], uint32_t(token)))
      kept.weight += weightOf(distanceOf(kept, logits[token]));
  return kept;
}
