//===- SampleScan.cpp - The loops over a row's tokens ---------------------===//
//
// Lanes are arrays of a fixed length with loops over them, which compilers turn
// into vectors. Each loop is inlined into one function per instruction set. No
// operation depends on the instruction set (SampleMath.h). Some instruction
// sets skip work, but only for tokens that could not win.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/SampleScan.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/device/cpu/Philox.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace mtp;

namespace {

constexpr size_t kLanes = kSampleLanes;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
using Lanes = T[kLanes];

/// Columns whose tokens are their indices: four of them share a block of noise.
struct PlainColumns {
  const SampleInput &input;
  static constexpr bool sharesBlocks = true;

  MTP_LANE void loadLogits(size_t first, size_t count, float *logits) const {
    for (size_t i = 0; i < count; ++i)
      logits[i] = input.logits[first + i];
  }
  MTP_LANE void loadTokens(size_t first, size_t, uint32_t *tokens) const {
    for (size_t i = 0; i < kLanes; ++i)
      tokens[i] = uint32_t(first + i);
  }
};

/// Columns with a map to tokens.
struct MappedColumns {
  const SampleInput &input;
  static constexpr bool sharesBlocks = false;

  MTP_LANE void loadLogits(size_t first, size_t count, float *logits) const {
    for (size_t i = 0; i < count; ++i)
      logits[i] = input.logits[first + i];
  }
  MTP_LANE void loadTokens(size_t first, size_t count, uint32_t *tokens) const {
    for (size_t i = 0; i < count; ++i)
      tokens[i] = uint32_t(input.tokens[first + i]);
  }
};

/// Elements up to `last`.
struct Elements {
  std::span<const uint64_t> elements;
  uint64_t last;
  static constexpr bool sharesBlocks = false;

  MTP_LANE void loadLogits(size_t first, size_t count, float *logits) const {
    for (size_t i = 0; i < count; ++i) {
      uint64_t element = elements[first + i];
      logits[i] =
          element <= last ? valueOf(~uint32_t(element >> 32)) : -kInfinity;
    }
  }
  MTP_LANE void loadTokens(size_t first, size_t count, uint32_t *tokens) const {
    for (size_t i = 0; i < count; ++i)
      tokens[i] = uint32_t(elements[first + i]);
  }
};

/// The best pick so far and its key.
struct Winner {
  uint64_t pick;
  float key;

  MTP_LANE explicit Winner(uint64_t pick)
      : pick(pick), key(valueOf(uint32_t(pick >> 32))) {}
};

} // namespace

/// Loads the distances of `count` columns from `first` on; the lanes after them
/// are far. No distance is negative, even if `best` is not the best: it comes
/// from memory.
template <typename Columns>
MTP_LANE static void loadDistances(const SampleLaw &law, const Columns &columns,
                                   size_t first, size_t count,
                                   float *distances) {
  Lanes<float> logits;
  if (count == kLanes) {
    columns.loadLogits(first, kLanes, logits);
  } else {
    std::fill_n(logits, kLanes, -kInfinity);
    columns.loadLogits(first, count, logits);
  }
  for (size_t i = 0; i < kLanes; ++i) {
    float distance = (law.best - logits[i]) * law.perTemperature;
    distance = distance < kFarDistance ? distance : kFarDistance;
    distances[i] = distance > 0 ? distance : 0;
  }
}

/// Returns the smallest distance, found as integers: compilers do not reorder
/// floats.
MTP_LANE static float leastOf(const float *distances) {
  uint32_t least = ~uint32_t(0);
  for (size_t i = 0; i < kLanes; ++i)
    least = std::min(least, std::bit_cast<uint32_t>(distances[i]));
  return std::bit_cast<float>(least);
}

template <typename T>
MTP_LANE static bool anyReaches(const T *values, T bound) {
  uint32_t any = 0;
  for (size_t i = 0; i < kLanes; ++i)
    any |= uint32_t(values[i] >= bound);
  return any;
}

/// Computes the words of kLanes / 4 blocks.
MTP_LANE static void drawBlocks(const SampleLaw &law, const uint32_t *blocks,
                                std::array<uint32_t, kLanes / 4> (&words)[4]) {
  for (size_t i = 0; i < kLanes / 4; ++i) {
    std::array<uint32_t, 4> drawn =
        philox4x32({law.position, kSamplePurpose, blocks[i], 0},
                   {law.seedLow, law.seedHigh});
    for (size_t j = 0; j < 4; ++j)
      words[j][i] = drawn[j];
  }
}

template <typename Columns>
MTP_LANE static void drawWords(const SampleLaw &law, size_t first,
                               const uint32_t *tokens, uint32_t *words) {
  constexpr size_t kBlocks = kLanes / 4;
  uint32_t blocks[kBlocks];
  std::array<uint32_t, kBlocks> drawn[4];
  if constexpr (Columns::sharesBlocks) {
    for (size_t i = 0; i < kBlocks; ++i)
      blocks[i] = uint32_t(first / 4 + i);
    drawBlocks(law, blocks, drawn);
    for (size_t i = 0; i < kBlocks; ++i)
      for (size_t j = 0; j < 4; ++j)
        words[4 * i + j] = drawn[j][i];
    return;
  }
  for (size_t lane = 0; lane < kLanes; lane += kBlocks) {
    for (size_t i = 0; i < kBlocks; ++i)
      blocks[i] = tokens[lane + i] >> 2;
    drawBlocks(law, blocks, drawn);
    for (size_t i = 0; i < kBlocks; ++i) {
      uint32_t word = tokens[lane + i] & 3;
      uint32_t low = word & 1 ? drawn[1][i] : drawn[0][i];
      uint32_t high = word & 1 ? drawn[3][i] : drawn[2][i];
      words[lane + i] = word & 2 ? high : low;
    }
  }
}

MTP_LANE static void findBuckets(const float *distances, uint32_t *buckets) {
  for (size_t i = 0; i < kLanes; ++i) {
    uint32_t bucket = std::bit_cast<uint32_t>(distances[i]) >> 20;
    buckets[i] = bucket > kFirstBucket ? bucket - kFirstBucket : 0;
  }
}

/// Takes lanes whose keys reach the winner's: each into its bucket or, without
/// buckets, as the winner.
MTP_LANE static void takeBest(const float *keys, const uint32_t *tokens,
                              const uint32_t *bucketOf, SampleBucket *buckets,
                              Winner &winner) {
  for (size_t i = 0; i < kLanes; ++i) {
    if (!(keys[i] >= winner.key))
      continue;
    uint64_t pick = packPick(keys[i], tokens[i]);
    if (buckets)
      buckets[bucketOf[i]].pick = std::max(buckets[bucketOf[i]].pick, pick);
    else if (pick > winner.pick)
      winner = Winner(pick);
  }
}

/// One step of a scan.
template <typename Columns>
MTP_LANE static void scanLanes(const SampleLaw &law, const Columns &columns,
                               size_t first, size_t count,
                               SampleBucket *buckets, Winner &winner) {
  Lanes<float> distances, keys;
  Lanes<uint64_t> weights;
  Lanes<uint32_t> bucketOf, tokens, words;
  loadDistances(law, columns, first, count, distances);
  float nearest = leastOf(distances);
  if (!(nearest < kFarDistance))
    return;
  if (buckets || law.leastWeight)
    for (size_t i = 0; i < kLanes; ++i)
      weights[i] = weightOf(distances[i]);
  if (buckets) {
    findBuckets(distances, bucketOf);
    for (size_t i = 0; i < kLanes; ++i) {
      buckets[bucketOf[i]].weight += weights[i];
      buckets[bucketOf[i]].count += 1;
    }
  }
  float needed = winner.key + nearest;
  if (needed > kMaxNoise)
    return;
  std::fill_n(tokens, kLanes, 0);
  columns.loadTokens(first, count, tokens);
  drawWords<Columns>(law, first, tokens, words);
  if (!anyReaches(words, leastWordOf(needed)))
    return;
  for (size_t i = 0; i < kLanes; ++i)
    keys[i] = gumbelNoise(words[i]) - distances[i];
  if (law.leastWeight)
    for (size_t i = 0; i < kLanes; ++i)
      keys[i] = weights[i] < law.leastWeight ? -kInfinity : keys[i];
  if (anyReaches(keys, winner.key))
    takeBest(keys, tokens, bucketOf, buckets, winner);
}

template <typename Columns>
MTP_LANE static uint64_t scanColumns(const SampleLaw &law,
                                     const Columns &columns, size_t begin,
                                     size_t end, SampleBucket *buckets) {
  Winner winner(law.bestPick);
  for (size_t first = begin; first < end; first += kLanes)
    scanLanes(law, columns, first, std::min(kLanes, end - first), buckets,
              winner);
  return winner.pick;
}

MTP_LANE static uint64_t scanRow(const SampleLaw &law, const SampleInput &input,
                                 size_t begin, size_t end,
                                 SampleBucket *buckets) {
  buckets = law.usesBuckets ? buckets : nullptr;
  return input.tokens.empty()
             ? scanColumns(law, PlainColumns{input}, begin, end, buckets)
             : scanColumns(law, MappedColumns{input}, begin, end, buckets);
}

MTP_LANE static size_t gatherBucket(const SampleLaw &law,
                                    const SampleInput &input, uint32_t bucket,
                                    uint64_t *elements) {
  size_t gathered = 0, columns = input.logits.size();
  for (size_t first = 0; first < columns; first += kLanes) {
    size_t count = std::min(kLanes, columns - first);
    Lanes<float> distances;
    Lanes<uint32_t> bucketOf;
    loadDistances(law, PlainColumns{input}, first, count, distances);
    findBuckets(distances, bucketOf);
    uint32_t any = 0;
    for (size_t i = 0; i < kLanes; ++i)
      any |= uint32_t(bucketOf[i] == bucket);
    for (size_t i = 0; any && i < count; ++i)
      if (bucketOf[i] == bucket)
        elements[gathered++] = uint64_t(~orderOf(input.logits[first + i]))
                                   << 32 |
                               input.token(first + i);
  }
  return gathered;
}

MTP_LANE static void weighElements(const SampleLaw &law,
                                   std::span<const uint64_t> elements,
                                   uint64_t *weights) {
  Lanes<float> distances;
  loadDistances(law, Elements{elements, ~uint64_t(0)}, 0, elements.size(),
                distances);
  for (size_t i = 0; i < kLanes; ++i)
    weights[i] = weightOf(distances[i]);
}

MTP_LANE static uint64_t pickElements(const SampleLaw &law,
                                      std::span<const uint64_t> elements,
                                      uint64_t last) {
  return scanColumns(law, Elements{elements, last}, 0, elements.size(),
                     nullptr);
}

/// Kernels of one instruction set; TARGET is its compiler attribute.
#define MTP_SAMPLE_KERNELS(NAME, TARGET)                                       \
  namespace NAME {                                                             \
  TARGET static uint64_t scan(const SampleLaw &law, const SampleInput &input,  \
                              size_t begin, size_t end,                        \
                              SampleBucket *buckets) {                         \
    return scanRow(law, input, begin, end, buckets);                           \
  }                                                                            \
  TARGET static size_t gather(const SampleLaw &law, const SampleInput &input,  \
                              uint32_t bucket, uint64_t *elements) {           \
    return gatherBucket(law, input, bucket, elements);                         \
  }                                                                            \
  TARGET static void weigh(const SampleLaw &law,                               \
                           std::span<const uint64_t> elements,                 \
                           uint64_t *weights) {                                \
    weighElements(law, elements, weights);                                     \
  }                                                                            \
  TARGET static uint64_t pick(const SampleLaw &law,                            \
                              std::span<const uint64_t> elements,              \
                              uint64_t last) {                                 \
    return pickElements(law, elements, last);                                  \
  }                                                                            \
  static constexpr SampleKernels kernels = {#NAME, scan, gather, weigh, pick}; \
  }

MTP_SAMPLE_KERNELS(baseline, )
#if defined(__x86_64__)
MTP_SAMPLE_KERNELS(avx2, [[gnu::target("avx2")]])
MTP_SAMPLE_KERNELS(avx512,
                   [[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl")]])
#endif

namespace {
struct AvailableKernels {
  AvailableKernels() {
#if defined(__x86_64__)
    auto has = [](const char *feature) {
      return cpuFeature(feature) == FeatureState::Present;
    };
    if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"))
      all[count++] = &avx512::kernels;
    if (has("avx2"))
      all[count++] = &avx2::kernels;
#endif
    all[count++] = &baseline::kernels;
  }

  std::array<const SampleKernels *, 3> all = {};
  size_t count = 0;
};
} // namespace

std::span<const SampleKernels *const> mtp::sampleKernels() {
  static const AvailableKernels available;
  return {available.all.data(), available.count};
}
