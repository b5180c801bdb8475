//===- Elementary.cpp - exp, quotient and root against the host's ---------===//

#include "Gpu.h"
#include "Parts.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

using namespace mtp::gpu_check;

static float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Computes the exp of compiler/Codegen/Rows/MathApprox.cpp.
static float hostExp(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const float magic = 12582912.0f;
  float shifted = std::fma(x, 1.44269504088896341f, magic);
  int32_t bits, magicBits;
  std::memcpy(&bits, &shifted, 4);
  std::memcpy(&magicBits, &magic, 4);
  uint32_t n = uint32_t(bits) - uint32_t(magicBits);
  float minus = magic - shifted;
  float r = std::fma(minus, 0.693359375f, x);
  r = std::fma(minus, -2.12194440054690583e-4f, r);
  float y = float(1.0 / 5040);
  for (double c : {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0})
    y = std::fma(y, r, float(c));
  uint32_t half = ((n + 256) >> 1) - 128;
  y *= bitsToFloat((half + 127) << 23);
  return y * bitsToFloat((n - half + 127) << 23);
}

/// Counts differences between device and host, over pieces of 2^26 inputs, or
/// of the number of inputs in the manifest.
static void compare(const std::string &name, const std::string &kernel,
                    uint64_t pieces,
                    const std::function<float(uint32_t, float &)> &z,
                    const std::function<float(float, float)> &host) {
  std::vector<Entry> sizes = readManifest("elementary");
  const size_t count =
      sizes.empty() ? size_t(1) << 26 : size_t(sizes[0].number("inputs"));
  if (!sizes.empty())
    pieces = 1;
  std::vector<float> xs(count), zs(count), y(count);
  CUdeviceptr dx = allocate(count * 4), dz = allocate(count * 4),
              dy = allocate(count * 4);
  CHECK(cu.cuMemcpyHtoD(dz, zs.data(), count * 4));
  CUfunction f = function("elementary.cubin", kernel);
  std::vector<uint64_t> wrong(16), nans(16);
  auto parallel = [&](auto body) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 16; ++t)
      threads.emplace_back([&, t] {
        for (size_t i = t * (count / 16); i < (t + 1) * (count / 16); ++i)
          body(i, t);
      });
    for (std::thread &thread : threads)
      thread.join();
  };
  uint64_t done = 0;
  double start = now();
  for (uint64_t piece = 0; piece < pieces && now() - start < 8;
       ++piece, ++done) {
    parallel([&](size_t i, size_t) {
      zs[i] = z(uint32_t(piece * count + i), xs[i]);
    });
    CHECK(cu.cuMemcpyHtoD(dx, xs.data(), count * 4));
    if (kernel == "quotient")
      CHECK(cu.cuMemcpyHtoD(dz, zs.data(), count * 4));
    launch(f, count / 256, 256, 0, {dx, dz, dy});
    synchronize();
    CHECK(cu.cuMemcpyDtoH(y.data(), dy, count * 4));
    parallel([&](size_t i, size_t t) {
      float expected = host(xs[i], zs[i]);
      if (expected != expected || y[i] != y[i])
        nans[t] += (expected != expected) != (y[i] != y[i]);
      else
        wrong[t] += std::memcmp(&expected, &y[i], 4) != 0;
    });
  }
  uint64_t sum = 0, sumNan = 0;
  for (size_t t = 0; t < 16; ++t) {
    sum += wrong[t];
    sumNan += nans[t];
  }
  report(name + ": inputs", double(done * count));
  expect(name + ": the host's bits", sum == 0, double(sum));
  expect(name + ": NaN where the host has it", sumNan == 0, double(sumNan));
}

static uint32_t mix(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

void mtp::gpu_check::runElementary() {
  // An odd factor: covers all numbers, and an even sample if time ends it
  // early.
  auto every = [](uint32_t i, float &x) {
    x = bitsToFloat(i * 0x9e3779b1u);
    return 0.0f;
  };
  auto pairs = [](uint32_t i, float &x) {
    x = bitsToFloat(mix(i));
    return bitsToFloat(mix(i + 0x9e3779b9u));
  };
  compare("exp, every f32", "exp", 64, every,
          [](float x, float) { return hostExp(x); });
  compare("root, every f32", "root", 64, every,
          [](float x, float) { return std::sqrt(x); });
  compare("quotient, random pairs", "quotient", 16, pairs,
          [](float x, float z) { return x / z; });
}
