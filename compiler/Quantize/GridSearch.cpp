//===- GridSearch.cpp - The best grid of a panel --------------------------===//
//
// A group alternates between two steps that never raise its error: the nearest
// integers for a scale and a minimum, and the least squares of scale and
// minimum for integers. This finds a local optimum, so it starts from several
// scales.
//
// With two levels, the scales and minima of a block are rounded to multiples of
// its f16 factors. Each group then tries the multiples around the ideal ones,
// because a rounded scale has another best minimum. The factors get the least
// squares for all integers of the block, and the groups try again.
//
//===----------------------------------------------------------------------===//

#include "compiler/Quantize/GridSearch.h"
#include "compiler/Quantize/Half.h"
#include "compiler/Quantize/Lanes.h"

#include <algorithm>
#include <array>
#include <limits>

namespace mtp {

namespace {

using namespace lanes;

constexpr int64_t kOutputs = Grid::kOutputs;

/// Groups of a smaller range count as zeros, because their scale would have no
/// reciprocal.
constexpr float kLeastRange = 1e-30f;

/// Ranges of the starting scales, relative to the range of the values.
constexpr float kStartRanges[] = {1.06f, 1.0f,  0.94f, 0.88f, 0.82f,
                                  0.76f, 0.70f, 0.64f, 0.57f, 0.50f};
/// Evaluations from each start, and of the best of all starts.
constexpr int kAlternations = 2, kLastAlternations = 4;
/// How often the factors of a block are fitted to its integers.
constexpr int kFactorRounds = 2;

/// Values of one group of inputs, for 16 outputs.
struct Group {
  const float *values;
  const float *importance;
  int64_t inputs;
  /// Sums over the inputs: of the importance, and of the values times it.
  float weight;
  Lanes sum;

  MTP_LANES_INLINE Lanes at(int64_t i) const {
    return load(values + i * kOutputs);
  }
};

/// Sums over the inputs of a group, each times the importance: the squared
/// error of a scale and a minimum, and products with their best integers.
struct Sums {
  Lanes error{}, q{}, qq{}, xq{};
};

/// The best scale and minimum so far, with their sums.
struct Fit {
  Lanes scale{}, minimum{};
  Sums sums;
};

struct Range {
  float least, most;
};

MTP_LANES_INLINE Lanes integersOf(Lanes x, Lanes perUnit, Lanes minimum,
                                  const Range &range) {
  return limited(nearest((x + minimum) * perUnit), range.least, range.most);
}

MTP_LANES_INLINE Sums evaluate(const Group &group, const Range &range,
                               Lanes scale, Lanes minimum) {
  Sums sums;
  Lanes perUnit = quotient(all(1), scale);
  for (int64_t i = 0; i < group.inputs; ++i) {
    Lanes x = group.at(i), w = all(group.importance[i]);
    Lanes q = integersOf(x, perUnit, minimum, range);
    Lanes off = x - (scale * q - minimum), wq = w * q;
    sums.error += w * off * off;
    sums.q += wq;
    sums.qq += wq * q;
    sums.xq += wq * x;
  }
  return sums;
}

MTP_LANES_INLINE void keepBetter(Fit &best, const Sums &sums, Lanes scale,
                                 Lanes minimum) {
  Ints isBetter = sums.error < best.sums.error;
  best.scale = pick(isBetter, scale, best.scale);
  best.minimum = pick(isBetter, minimum, best.minimum);
  best.sums.error = pick(isBetter, sums.error, best.sums.error);
  best.sums.q = pick(isBetter, sums.q, best.sums.q);
  best.sums.qq = pick(isBetter, sums.qq, best.sums.qq);
  best.sums.xq = pick(isBetter, sums.xq, best.sums.xq);
}

/// Replaces scale and minimum by the least squares for the integers of `sums`.
MTP_LANES_INLINE void fitToIntegers(const Grid &grid, const Group &group,
                                    const Sums &sums, Lanes &scale,
                                    Lanes &minimum) {
  Lanes alone = quotient(sums.xq, sums.qq), fitted = alone, offset = all(0);
  if (grid.hasMinimum) {
    Lanes weight = all(group.weight);
    Lanes spread = weight * sums.qq - sums.q * sums.q;
    Lanes slope = quotient(weight * sums.xq - sums.q * group.sum, spread);
    Lanes below = (sums.q * slope - group.sum) / weight;
    Ints isPossible = (spread > all(1e-5f) * weight * sums.qq) & (below > 0.0f);
    fitted = pick(isPossible, slope, alone);
    offset = pick(isPossible, below, all(0));
    Ints isPositive = fitted > 0.0f;
    fitted = pick(isPositive, fitted, scale);
    offset = pick(isPositive, offset, minimum);
  }
  scale = fitted;
  minimum = offset;
}

MTP_LANES_INLINE void improve(const Grid &grid, const Range &range,
                              const Group &group, Lanes scale, Lanes minimum,
                              int count, Fit &best) {
  for (int n = 0; n < count; ++n) {
    Sums sums = evaluate(group, range, scale, minimum);
    keepBetter(best, sums, scale, minimum);
    fitToIntegers(grid, group, sums, scale, minimum);
  }
}

/// Smallest and largest value of a group, of both signs or zero.
struct Limits {
  Lanes least, most;
};

MTP_LANES_INLINE Limits limitsOf(const Group &group) {
  Limits limits{all(0), group.at(0)};
  for (int64_t i = 0; i < group.inputs; ++i) {
    limits.least = smallest(limits.least, group.at(i));
    limits.most = largest(limits.most, group.at(i));
  }
  return limits;
}

/// Starts with a minimum: clips the range from above, from below or on both
/// sides.
MTP_LANES_INLINE void startWithMinimum(const Grid &grid, const Range &range,
                                       const Group &group, Fit &best) {
  Limits limits = limitsOf(group);
  Lanes size = limits.most - limits.least;
  size = pick(size < kLeastRange, all(0), size);
  for (float part : kStartRanges)
    for (float below : {0.0f, 0.5f, 1.0f}) {
      Lanes scale = size * part / range.most;
      Lanes minimum = -limits.least - size * ((1 - part) * below);
      improve(grid, range, group, scale, largest(minimum, all(0)),
              kAlternations, best);
      if (part == 1.0f)
        break;
    }
}

/// Starts without a minimum. The scales have both signs, because the integers
/// have one more negative value.
MTP_LANES_INLINE void startWithSigns(const Grid &grid, const Range &range,
                                     const Group &group, Fit &best) {
  Limits limits = limitsOf(group);
  Lanes size = largest(magnitude(limits.least), magnitude(limits.most));
  size = pick(size < kLeastRange, all(0), size);
  for (float part : kStartRanges)
    for (float sign : {1.0f, -1.0f})
      improve(grid, range, group, size * (part * sign / -range.least), all(0),
              kAlternations, best);
}

MTP_LANES_INLINE Fit searchGroup(const Grid &grid, const Range &range,
                                 const Group &group) {
  Fit best;
  best.sums.error = all(std::numeric_limits<float>::max());
  if (grid.hasMinimum)
    startWithMinimum(grid, range, group, best);
  else
    startWithSigns(grid, range, group, best);
  improve(grid, range, group, best.scale, best.minimum, kLastAlternations,
          best);
  return best;
}

//===----------------------------------------------------------------------===//
// Scales of two levels
//===----------------------------------------------------------------------===//

constexpr int64_t kMostGroups = Grid::kBlock;

/// The groups of one block, for 16 outputs.
struct Block {
  std::array<Group, kMostGroups> groups;
  std::array<Fit, kMostGroups> fits;
  int64_t count = 0;
};

/// Factors of a block, and the integers of its groups.
struct Levels {
  Lanes scaleFactor{}, minimumFactor{};
  std::array<Lanes, kMostGroups> scale, minimum;
  /// Sums for the rounded scales and minima.
  std::array<Sums, kMostGroups> sums;
  Lanes error{};
};

/// Rounds each number to f16.
MTP_LANES_INLINE Lanes halves(Lanes values) {
  for (int64_t o = 0; o < kLanes; ++o)
    values[o] = widenHalf(roundToHalf(values[o]));
  return values;
}

/// Tries the integers next to `scale` and `minimum` for one group.
MTP_LANES_INLINE void roundGroup(const Grid &grid, const Range &range,
                                 const Group &group, Lanes scale, Lanes minimum,
                                 int64_t g, Levels &levels) {
  float most = float(grid.mostScale());
  float least = grid.hasMinimum ? 0.0f : -most;
  Fit best;
  best.sums.error = all(std::numeric_limits<float>::max());
  for (float up : {0.0f, -1.0f, 1.0f})
    for (float over : {0.0f, -1.0f, 1.0f}) {
      Lanes s = limited(scale + up, least, most);
      Lanes m = limited(minimum + over, 0, most);
      Sums sums = evaluate(group, range, levels.scaleFactor * s,
                           levels.minimumFactor * m);
      keepBetter(best, sums, s, m);
      if (!grid.hasMinimum)
        break;
    }
  levels.scale[size_t(g)] = best.scale;
  levels.minimum[size_t(g)] = best.minimum;
  levels.sums[size_t(g)] = best.sums;
  levels.error += best.sums.error;
}

/// Returns the factors of least squares for all integers.
MTP_LANES_INLINE void fitFactors(const Block &block, Levels &levels) {
  Lanes uu{}, uv{}, vv{}, xu{}, xv{};
  for (int64_t g = 0; g < block.count; ++g) {
    const Group &group = block.groups[size_t(g)];
    const Sums &sums = levels.sums[size_t(g)];
    Lanes s = levels.scale[size_t(g)], m = levels.minimum[size_t(g)];
    uu += s * s * sums.qq;
    uv += s * m * sums.q;
    vv += m * m * group.weight;
    xu += s * sums.xq;
    xv += m * group.sum;
  }
  Lanes spread = uu * vv - uv * uv;
  Lanes scale = quotient(xu * vv - xv * uv, spread);
  Lanes minimum = quotient(uv * scale - xv, vv);
  Ints isPossible =
      (spread > all(1e-5f) * uu * vv) & (scale > 0.0f) & (minimum > 0.0f);
  levels.scaleFactor = halves(pick(isPossible, scale, quotient(xu, uu)));
  levels.minimumFactor =
      halves(pick(isPossible, minimum, levels.minimumFactor));
}

/// Replaces `best` by `levels` for outputs with a smaller error.
MTP_LANES_INLINE void keepBetter(const Block &block, const Levels &levels,
                                 Levels &best) {
  Ints isBetter = levels.error < best.error;
  auto keep = [&](const Lanes &from, Lanes &to) {
    to = pick(isBetter, from, to);
  };
  keep(levels.scaleFactor, best.scaleFactor);
  keep(levels.minimumFactor, best.minimumFactor);
  keep(levels.error, best.error);
  for (size_t g = 0; g < size_t(block.count); ++g) {
    keep(levels.scale[g], best.scale[g]);
    keep(levels.minimum[g], best.minimum[g]);
    keep(levels.sums[g].q, best.sums[g].q);
    keep(levels.sums[g].qq, best.sums[g].qq);
    keep(levels.sums[g].xq, best.sums[g].xq);
  }
}

MTP_LANES_INLINE Levels searchLevels(const Grid &grid, const Range &range,
                                     const Block &block) {
  Levels levels, best;
  Lanes mostScale{}, mostMinimum{};
  for (int64_t g = 0; g < block.count; ++g) {
    mostScale = largest(mostScale, magnitude(block.fits[size_t(g)].scale));
    mostMinimum = largest(mostMinimum, block.fits[size_t(g)].minimum);
  }
  float most = float(grid.mostScale());
  levels.scaleFactor = halves(mostScale / most);
  levels.minimumFactor = halves(mostMinimum / most);
  best.error = all(std::numeric_limits<float>::max());
  for (int round = 0; round <= kFactorRounds; ++round) {
    levels.error = all(0);
    for (int64_t g = 0; g < block.count; ++g) {
      const Fit &fit = block.fits[size_t(g)];
      roundGroup(grid, range, block.groups[size_t(g)],
                 nearest(limited(quotient(fit.scale, levels.scaleFactor),
                                 -most - 1, most + 1)),
                 nearest(limited(quotient(fit.minimum, levels.minimumFactor), 0,
                                 most + 1)),
                 g, levels);
    }
    keepBetter(block, levels, best);
    if (round < kFactorRounds)
      fitFactors(block, levels);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Stores scale and minimum of group `g`, for outputs from `output` on.
MTP_LANES_INLINE void storeGroup(Lanes scale, Lanes minimum, int64_t g,
                                 int64_t output, GridCodes &codes) {
  store(scale, codes.scales.data() + g * kOutputs + output);
  store(minimum, codes.minima.data() + g * kOutputs + output);
}

MTP_LANES_INLINE void storeLevels(const Levels &levels, int64_t count,
                                  int64_t firstGroup, int64_t block,
                                  int64_t output, GridCodes &codes) {
  for (int64_t o = 0; o < kLanes; ++o) {
    size_t at = size_t(block * kOutputs + output + o);
    codes.scaleFactors[at] = roundToHalf(levels.scaleFactor[o]);
    codes.minimumFactors[at] = roundToHalf(levels.minimumFactor[o]);
  }
  for (int64_t g = 0; g < count; ++g) {
    Lanes scale = levels.scale[size_t(g)], minimum = levels.minimum[size_t(g)];
    storeGroup(levels.scaleFactor * scale, levels.minimumFactor * minimum,
               firstGroup + g, output, codes);
    for (int64_t o = 0; o < kLanes; ++o) {
      size_t at = size_t((firstGroup + g) * kOutputs + output + o);
      codes.scaleCodes[at] = int8_t(scale[o]);
      codes.minimumCodes[at] = int8_t(minimum[o]);
    }
  }
}

MTP_LANES_INLINE void roundLanes(const Grid &grid, const float *values,
                                 int64_t input, int64_t output,
                                 GridCodes &codes) {
  int64_t group = input / grid.group * kOutputs + output;
  Lanes scale = load(codes.scales.data() + group);
  Lanes minimum = load(codes.minima.data() + group);
  Range range{float(grid.least()), float(grid.most())};
  Lanes q = integersOf(load(values + output), quotient(all(1), scale), minimum,
                       range);
  for (int64_t o = 0; o < kLanes; ++o)
    codes.q[size_t(input * kOutputs + output + o)] = int8_t(q[o]);
}

/// Searches one block of inputs from `begin` on, for 16 outputs from `output`
/// on.
MTP_LANES_INLINE void searchBlock(const Grid &grid,
                                  std::span<const float> values,
                                  const float *importance, int64_t begin,
                                  int64_t inputs, int64_t output,
                                  GridCodes &codes) {
  Range range{float(grid.least()), float(grid.most())};
  Block block;
  for (int64_t i = 0; i < inputs; i += grid.group) {
    Group &group = block.groups[size_t(block.count)];
    group = {values.data() + (begin + i) * kOutputs + output,
             importance + begin + i, std::min(grid.group, inputs - i), 0,
             Lanes{}};
    for (int64_t j = 0; j < group.inputs; ++j) {
      group.weight += group.importance[j];
      group.sum += group.at(j) * group.importance[j];
    }
    block.fits[size_t(block.count++)] = searchGroup(grid, range, group);
  }
  int64_t first = begin / grid.group;
  if (grid.scaleBits)
    storeLevels(searchLevels(grid, range, block), block.count, first,
                begin / Grid::kBlock, output, codes);
  else
    for (int64_t g = 0; g < block.count; ++g)
      storeGroup(block.fits[size_t(g)].scale, block.fits[size_t(g)].minimum,
                 first + g, output, codes);
}

/// Smallest importance of an input, relative to the largest one. It keeps the
/// sums of a group above zero.
constexpr float kLeastImportance = 1e-6f;

/// Returns the importance of each input, at most 1.
std::vector<float> importanceOf(int64_t inputs, std::span<const float> given) {
  std::vector<float> importance(size_t(inputs), 1.0f);
  float most = 0;
  for (float value : given)
    most = std::max(most, value);
  if (most > 0)
    for (size_t i = 0; i < given.size(); ++i)
      importance[i] = std::max(given[i] / most, kLeastImportance);
  return importance;
}

} // namespace

/// Searches 16 outputs of one block.
MTP_LANES_CLONES void searchOutputs(const Grid &grid,
                                    std::span<const float> values,
                                    const float *importance, int64_t begin,
                                    int64_t inputs, int64_t output,
                                    GridCodes &codes) {
  searchBlock(grid, values, importance, begin, inputs, output, codes);
  for (int64_t i = begin; i < begin + inputs; ++i)
    roundLanes(grid, values.data() + i * kOutputs, i, output, codes);
}

void roundInput(const Grid &grid, const float *values, int64_t input,
                GridCodes &codes) {
  for (int64_t output = 0; output < kOutputs; output += kLanes)
    roundLanes(grid, values, input, output, codes);
}

void searchGrid(const Grid &grid, std::span<const float> values,
                std::span<const float> importance, GridCodes &codes) {
  int64_t inputs = int64_t(values.size()) / kOutputs;
  codes.resize(grid, inputs);
  std::vector<float> weights = importanceOf(inputs, importance);
  int64_t block = grid.blockInputs();
  for (int64_t begin = 0; begin < inputs; begin += block)
    for (int64_t output = 0; output < kOutputs; output += kLanes)
      searchOutputs(grid, values, weights.data(), begin,
                    std::min(block, inputs - begin), output, codes);
}

} // namespace mtp
