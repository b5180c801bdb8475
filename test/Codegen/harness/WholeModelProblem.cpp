//===- WholeModelProblem.cpp - Buffers of kernels of whole models ---------===//

#include "WholeModelProblem.h"
#include "Quantized.h"
#include "runtime/schema/KvPage.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

static std::vector<uint8_t> halves(size_t bytes, uint32_t seed) {
  std::vector<uint16_t> result;
  for (float value : randomFloats(bytes / 2, seed))
    result.push_back(bf16Bits(value));
  return bytesOf(result);
}

/// Returns the expert of a pair: the third expert gets most rows, the fourth
/// none.
static int expertOf(int pair) {
  int row = pair / topK;
  return pair % topK == 0 ? 2 : row % 3 == 0 ? 4 : row % 3 - 1;
}

/// Returns the start of each expert's pairs, and the end of the last ones.
static std::vector<int32_t> startsOfExperts(int64_t rows) {
  std::vector<int32_t> starts{0};
  for (int expert = 0; expert < experts; ++expert) {
    int found = starts.back();
    for (int pair = 0; pair < rows * topK; ++pair)
      found += expertOf(pair) == expert;
    starts.push_back(found);
  }
  return starts;
}

/// Returns the pairs, sorted by their experts.
static std::vector<int32_t> pairsOfExperts(int64_t rows) {
  std::vector<int32_t> pairs;
  for (int expert = 0; expert < experts; ++expert)
    for (int pair = 0; pair < rows * topK; ++pair)
      if (expertOf(pair) == expert)
        pairs.push_back(pair);
  return pairs;
}

std::vector<int32_t> Problem::numbers(Role role, size_t count) const {
  std::vector<int32_t> all;
  bool isCached = kernel.has("page");
  int64_t bound = kernel.kind == "embed"      ? kernel.number("vocab")
                  : kernel.kind == "moe_plan" ? kernel.number("experts")
                                              : params.back();
  for (int i = 0; i < int(count); ++i)
    switch (role) {
    case Role::Slots:
      all.push_back(isCached ? slotOf[i] : i % slots);
      break;
    case Role::Positions:
      all.push_back(positionOf[size_t(i) % positionOf.size()]);
      break;
    case Role::Pages:
      all.push_back(1 + i * 7 % (slots * maxPages));
      break;
    default:
      all.push_back(int32_t(i * 7 % bound));
    }
  return all;
}

std::vector<std::vector<float>>
Problem::drawWeights(const ModelKernel &kernel,
                     const std::vector<Role> &roles) {
  if (std::find(roles.begin(), roles.end(), Role::Weights) == roles.end())
    return {};
  size_t k = size_t(kernel.number("k"));
  size_t count = size_t(kernel.number("experts", kernel.number("heads", 1)));
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(randomFloats(kernel.outputs() * k, uint32_t(50 + i),
                               1 / std::sqrt(float(k))));
  return all;
}

std::vector<uint8_t> Problem::pack(bool isGpu) const {
  std::vector<uint8_t> packed;
  for (const std::vector<float> &w : weights) {
    int k = int(kernel.number("k")), n = int(kernel.outputs());
    bool isFragments = isGpu && kernel.has("fragments", "true");
    std::vector<uint8_t> part;
    WeightFormat format = kernel.format();
    if (format.isQuantized()) {
      QuantizedMatrix matrix =
          quantizeWeights(w, n, k, {format.elements, int(format.group)});
      part = isFragments ? packFragments(matrix, kernel.isGated())
                         : packQuantized(matrix, kernel.isGated());
    } else {
      part = packWeights(w, n, k, format.isBF16(), kernel.isGated());
      if (isFragments)
        part = toFragments(part, k);
    }
    packed.insert(packed.end(), part.begin(), part.end());
  }
  return packed;
}

std::vector<uint8_t> Problem::fill(Role role, size_t place, size_t bytes,
                                   bool isGpu) const {
  uint32_t seed = uint32_t(place + 1);
  size_t count = bytes / 4;
  switch (role) {
  case Role::Rows: {
    std::vector<float> x = randomFloats(count, seed);
    // The sum of squares is a whole number, so its order does not matter.
    for (float &value : x)
      value = kernel.has("norm", "true") ? (value < 0 ? -1 : 1) : toBF16(value);
    return bytesOf(x);
  }
  case Role::NormWeights: {
    std::vector<float> weights(count);
    for (size_t i = 0; i < count; ++i)
      weights[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? 0.75f : 0.25f;
    return bytesOf(weights);
  }
  case Role::Weights:
    EXPECT_EQ(packed[isGpu].size(), bytes);
    return packed[isGpu];
  case Role::Sampling:
    return std::vector<uint8_t>(bytes);
  case Role::Table:
    return halves(bytes, seed);
  case Role::Cache:
  case Role::Entries: {
    size_t pages = slots * maxPages + 1;
    return halves(pages * mtp::pageStride(kernel.number("page"),
                                          kernel.number("entry_width"), 2),
                  seed);
  }
  case Role::Starts:
    return bytesOf(startsOfExperts(params[0]));
  case Role::Pairs:
    return bytesOf(pairsOfExperts(params[0]));
  case Role::Floats:
  case Role::Values:
  case Role::Numbers:
  case Role::State:
    return bytesOf(randomFloats(count, seed));
  default:
    return bytesOf(numbers(role, count));
  }
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

std::vector<float> test::floatsOf(Guarded<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

void test::expectClose(const std::vector<float> &got,
                       const std::vector<float> &want, size_t width,
                       double most) {
  ASSERT_EQ(got.size(), want.size());
  ASSERT_GT(width, 0u);
  for (size_t begin = 0; begin < got.size(); begin += width) {
    double apart = 0, size = 0;
    for (size_t i = begin; i < std::min(begin + width, got.size()); ++i) {
      apart += std::pow(double(got[i]) - want[i], 2);
      size += std::pow(double(want[i]), 2);
    }
    // The comparison also fails for NaN.
    ASSERT_TRUE(apart <= most * most * size)
        << "values from " << begin << " on: " << std::sqrt(apart / size);
  }
}

/// Compares buffers as `expectClose` does, with the limit `most`.
static void compare(const std::vector<Role> &roles, std::vector<Buffer> &got,
                    std::vector<Buffer> &want, size_t width, double most) {
  for (size_t i = 0; i < roles.size(); ++i) {
    SCOPED_TRACE("buffer " + std::to_string(i));
    if (roles[i] == Role::Values && most > 0)
      expectClose(floatsOf(*got[i]), floatsOf(*want[i]), width, most);
    else if (isResult(roles[i]))
      EXPECT_TRUE(got[i]->values() == want[i]->values());
  }
}

static TestTarget cpu() { return hostTargets().front().second; }
TestTarget test::gpu() {
  TestTarget target;
  target.isGpu = true;
  return target;
}

void test::expectAgreement(const ModelKernel &kernel,
                           const std::vector<Role> &roles,
                           const std::vector<std::vector<int64_t>> &params,
                           size_t width, double most) {
  SCOPED_TRACE(kernel.kind + " " + kernel.keys);
  Kernel mine(gpu(), kernel.kind, kernel.keys);
  Kernel theirs(cpu(), kernel.kind, kernel.without({"fragments"}));
  Problem problem(kernel, roles, {});
  for (const std::vector<int64_t> &some : params) {
    SCOPED_TRACE(std::to_string(some[0]) + " rows");
    problem.params = some;
    std::vector<Buffer> got = problem.run(mine, true);
    std::vector<Buffer> want = problem.run(theirs, false);
    compare(roles, got, want, width, most);
  }
}
