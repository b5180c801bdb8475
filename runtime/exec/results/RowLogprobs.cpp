//===- RowLogprobs.cpp - Log-probabilities of a row of logits -------------===//

#include "runtime/exec/results/RowLogprobs.h"
#include "runtime/device/cpu/Sample.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mtp;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Returns the tokens of the `count` largest logits above -infinity: in
/// descending order, and in ascending order of tokens among equals.
static std::vector<int32_t> largestOf(std::span<const float> logits,
                                      size_t count) {
  // Whole blocks without a candidate are skipped by a loop without branches.
  constexpr size_t kBlock = 64;
  std::vector<int32_t> best;
  if (count == 0)
    return best;
  float least = -kInfinity;
  for (size_t first = 0; first < logits.size(); first += kBlock) {
    std::span<const float> block =
        logits.subspan(first, std::min(kBlock, logits.size() - first));
    uint32_t any = 0;
    for (float logit : block)
      any |= uint32_t(logit > least);
    for (size_t i = 0; any && i < block.size(); ++i) {
      if (!(block[i] > least))
        continue;
      auto place = std::ranges::find_if(best, [&](int32_t token) {
        return block[i] > logits[size_t(token)];
      });
      best.insert(place, int32_t(first + i));
      if (best.size() > count)
        best.pop_back();
      if (best.size() == count)
        least = logits[size_t(best.back())];
    }
  }
  return best;
}

/// Returns the number of tokens before `token` in the order of largestOf(),
/// plus 1.
static uint32_t rankOf(std::span<const float> logits, int32_t token) {
  float logit = logits[size_t(token)];
  uint32_t before = 0;
  for (float other : logits)
    before += uint32_t(other > logit);
  for (float other : logits.first(size_t(token)))
    before += uint32_t(other == logit);
  return before + 1;
}

namespace {
/// A distribution over the tokens of a row.
class RowDistribution {
public:
  RowDistribution(std::span<const float> logits, const SamplingRow &sampling,
                  std::span<uint64_t> scratch)
      : logits(logits) {
    kept.best = bestLogitOf(logits);
    if (kept.best.logit < kInfinity && kept.best.token >= 0) {
      kept = keptTokens(logits, sampling, scratch);
      logSum = std::log(double(kept.weight) / double(kFullWeight));
    } else {
      // Infinite logits share all probability.
      logSum = std::log(double(std::ranges::count(logits, kInfinity)));
    }
  }

  float logprobOf(int32_t token) const {
    float logit = logits[size_t(token)];
    if (!(kept.best.logit < kInfinity))
      return logit == kInfinity ? float(-logSum) : -kInfinity;
    if (!(logit > -kInfinity) || !kept.has(logit, uint32_t(token)))
      return -kInfinity;
    double distance = double(kept.best.logit) - double(logit);
    return float(-distance * double(kept.perTemperature) - logSum);
  }

private:
  std::span<const float> logits;
  KeptTokens kept;
  double logSum = 0;
};
} // namespace

/// Returns the filters of a mode. A greedy request has none.
static SamplingRow filtersOf(LogprobsMode mode, const SamplingParams &given) {
  SamplingRow row = {};
  row.temperature = 1;
  row.topP = 1;
  if (mode == LogprobsMode::Raw || !(given.temperature > 0))
    return row;
  row.temperature = given.temperature;
  row.topK = int32_t(given.topK);
  row.topP = given.topP;
  row.minP = given.minP;
  return row;
}

TokenLogprobs RowLogprobs::compute(std::span<const float> logits, int32_t token,
                                   uint32_t count, LogprobsMode mode,
                                   const SamplingParams &sampling) {
  scratch.resize(logits.size());
  RowDistribution row(logits, filtersOf(mode, sampling), scratch);
  TokenLogprobs result;
  result.own = {token, row.logprobOf(token)};
  std::vector<int32_t> best = largestOf(logits, count);
  auto place = std::ranges::find(best, token);
  result.rank = place == best.end() ? rankOf(logits, token)
                                    : uint32_t(place - best.begin()) + 1;
  for (int32_t likely : best)
    if (float logprob = row.logprobOf(likely); logprob > -kInfinity)
      result.likeliest.push_back({likely, logprob});
  return result;
}
