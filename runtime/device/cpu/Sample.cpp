//===- Sample.cpp - One token from one row of logits ----------------------===//

#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/Philox.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mtp;

/// Counter words that keep this noise apart from any other use of the key.
static constexpr uint32_t kSamplePurpose = 1;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The largest, or -infinity. Comparisons with NaN are false.
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

/// The first of the largest, or -1 where nothing is larger than -infinity.
static int32_t argmax(std::span<const float> logits) {
  float value = largest(logits);
  if (!(value > -kInfinity))
    return -1;
  return int32_t(std::find(logits.begin(), logits.end(), value) -
                 logits.begin());
}

namespace {
/// The distribution of one row. Sums run in a fixed order and in double.
class Row {
public:
  Row(std::span<const float> logits, std::span<const int32_t> tokens,
      const SamplingRow &sampling, int32_t position, int32_t best)
      : logits(logits), tokens(tokens), sampling(sampling), position(position),
        best(best) {}

  /// Puts the tokens that survive the filters first in `indices`.
  std::span<int32_t> filter(std::span<int32_t> indices) const;

  /// The largest of scaled logit plus noise among `kept`.
  int32_t pick(std::span<const int32_t> kept) const;

private:
  double scaled(int32_t token) const {
    return double(logits[token]) / double(sampling.temperature);
  }
  /// Probability over that of the best token.
  double weight(int32_t token) const {
    return std::exp(scaled(token) - scaled(best));
  }
  bool before(int32_t a, int32_t b) const {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  }
  std::span<int32_t> keepTopP(std::span<int32_t> kept, bool sorted) const;
  double noise(int32_t index) const;

  std::span<const float> logits;
  std::span<const int32_t> tokens;
  const SamplingRow &sampling;
  int32_t position;
  int32_t best;
};
} // namespace

std::span<int32_t> Row::filter(std::span<int32_t> indices) const {
  size_t count = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -kInfinity)
      indices[count++] = int32_t(i);
  std::span<int32_t> kept = indices.first(count);
  auto order = [this](int32_t a, int32_t b) { return before(a, b); };
  bool sorted = false;
  if (sampling.topK > 0 && size_t(sampling.topK) < count) {
    std::partial_sort(kept.begin(), kept.begin() + sampling.topK, kept.end(),
                      order);
    kept = kept.first(size_t(sampling.topK));
    sorted = true;
  }
  if (sampling.topP < 1)
    kept = keepTopP(kept, sorted);
  if (sampling.minP > 0) {
    auto end = std::remove_if(kept.begin(), kept.end(), [this](int32_t token) {
      return weight(token) < double(sampling.minP);
    });
    kept = kept.first(size_t(end - kept.begin()));
  }
  return kept;
}

/// Keeps the shortest run of tokens, likeliest first, whose share of the whole
/// reaches top-p. A heap, because the run is mostly short and V is large.
std::span<int32_t> Row::keepTopP(std::span<int32_t> kept, bool sorted) const {
  double total = 0;
  for (int32_t token : kept)
    total += weight(token);
  double goal = total * double(sampling.topP), sum = 0;
  size_t count = 0;
  if (sorted) {
    while (count < kept.size() && (count == 0 || sum < goal))
      sum += weight(kept[count++]);
    return kept.first(count);
  }
  auto later = [this](int32_t a, int32_t b) { return before(b, a); };
  std::reverse(kept.begin(), kept.end());
  std::make_heap(kept.begin(), kept.end(), later);
  while (count < kept.size() && (count == 0 || sum < goal)) {
    std::pop_heap(kept.begin(), kept.end() - count, later);
    ++count;
    sum += weight(kept[kept.size() - count]);
  }
  return kept.last(count);
}

/// Standard Gumbel noise of a logit's token: -log(-log(u)), u in (0, 1) from one
/// of the four words of its block.
double Row::noise(int32_t index) const {
  int32_t token = tokens.empty() ? index : tokens[size_t(index)];
  std::array<uint32_t, 4> words =
      philox4x32({uint32_t(position), kSamplePurpose, uint32_t(token) >> 2, 0},
                 {sampling.seedLow, sampling.seedHigh});
  double u = (double(words[token & 3]) + 0.5) * 0x1p-32;
  return -std::log(-std::log(u));
}

int32_t Row::pick(std::span<const int32_t> kept) const {
  // No noise is larger than -log(-log(1 - 2^-33)) < 23: most tokens of a large
  // vocabulary are out before their noise is computed.
  constexpr double kMaxNoise = 23;
  int32_t winner = best;
  double value = scaled(best) + noise(best);
  for (int32_t token : kept) {
    if (scaled(token) + kMaxNoise < value)
      continue;
    double key = scaled(token) + noise(token);
    if (key > value || (key == value && token < winner)) {
      value = key;
      winner = token;
    }
  }
  return winner;
}

int32_t mtp::bestOfParts(std::span<const float> values,
                         std::span<const int32_t> indices) {
  int32_t part = argmax(values);
  return part < 0 ? -1 : indices[size_t(part)];
}

int32_t mtp::sampleToken(std::span<const float> logits,
                         std::span<const int32_t> tokens,
                         const SamplingRow &sampling, int32_t position,
                         std::span<int32_t> indices) {
  int32_t best = argmax(logits);
  if (best >= 0 && !isGreedy(sampling) && logits[size_t(best)] != kInfinity) {
    Row row(logits, tokens, sampling, position, best);
    best = row.pick(row.filter(indices));
  }
  return best < 0 || tokens.empty() ? best : tokens[size_t(best)];
}
