//===- Numbers.cpp - One bf16 mma, bit by bit -----------------------------===//

#include "Emulation.h"
#include "Gpu.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace mtp::gpu_check;

static std::mt19937 generator(1);

static float uniform(float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(generator);
}

static float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Returns a number whose exponent varies by `spread` around 0, with a random
/// sign.
static float spreadNumber(int spread) {
  float m = uniform(1, 2) * (generator() & 1 ? 1 : -1);
  return std::ldexp(m,
                    spread ? int(generator() % (2 * spread + 1)) - spread : 0);
}

//===----------------------------------------------------------------------===//
// One mma
//===----------------------------------------------------------------------===//

namespace {
/// Inputs of many mma, and the device's results.
struct MmaCases {
  size_t count;
  std::vector<uint16_t> a, b;
  std::vector<float> c, d;

  explicit MmaCases(size_t count)
      : count(count), a(count * 256), b(count * 128), c(count * 128) {}
  void run() {
    CUdeviceptr da = upload(a), db = upload(b), dc = upload(c),
                dd = allocate(c.size() * 4);
    launch(machineKernel("mma_cases"), unsigned(count), 32, 0,
           {da, db, dc, dd});
    synchronize();
    d = download<float>(dd, c.size());
  }
  /// Returns the number of outputs that the model gives to the bit. All NaN are
  /// equal.
  size_t hits(const MmaModel &model, int show = 0) const {
    size_t hits = 0;
    for (size_t i = 0; i < count; ++i)
      for (size_t m = 0; m < 16; ++m)
        for (size_t n = 0; n < 8; ++n) {
          float x = model.run(c[i * 128 + m * 8 + n], &a[i * 256 + m * 16],
                              &b[i * 128 + n * 16]);
          float y = d[i * 128 + m * 8 + n];
          bool same = std::memcmp(&x, &y, 4) == 0 || (x != x && y != y);
          hits += same;
          if (!same && show-- > 0)
            print(i, m, n, x, y);
        }
    return hits;
  }
  void print(size_t i, size_t m, size_t n, float model, float device) const {
    std::fprintf(stderr, "mma: c %a, device %a, model %a, products",
                 c[i * 128 + m * 8 + n], device, model);
    for (size_t k = 0; k < 16; ++k)
      std::fprintf(stderr, " %a*%a", fromBf16(a[i * 256 + m * 16 + k]),
                   fromBf16(b[i * 128 + n * 16 + k]));
    std::fprintf(stderr, "\n");
  }
};
} // namespace

static MmaModel findModel() {
  MmaCases cases(256);
  for (size_t i = 0; i < cases.count; ++i) {
    // Exponents that are equal, mixed and far apart; c from absent to large.
    int spread = int(i % 4) * 4, far = int(i / 4 % 4) * 6;
    for (size_t k = 0; k < 256; ++k)
      cases.a[i * 256 + k] = toBf16(spreadNumber(spread));
    for (size_t k = 0; k < 128; ++k) {
      cases.b[i * 128 + k] = toBf16(spreadNumber(spread));
      cases.c[i * 128 + k] = i % 16 == 0 ? 0 : spreadNumber(far);
    }
  }
  cases.run();
  MmaModel best;
  size_t bestHits = 0;
  for (int width : {4, 8, 16})
    for (int extra = 0; extra <= 4; ++extra)
      for (int flags = 0; flags < 8; ++flags) {
        MmaModel model{width, extra, bool(flags & 1), bool(flags & 2),
                       bool(flags & 4)};
        size_t hits = cases.hits(model);
        report("mma bf16, bits of " + model.name(),
               double(hits) / double(cases.c.size()));
        if (hits > bestHits) {
          bestHits = hits;
          best = model;
        }
      }
  report("mma bf16: best model", best.name());
  return best;
}

/// Tests the model on other kinds of numbers.
static void testModel(const MmaModel &model) {
  const char *names[] = {"one exponent", "exponents of +-30",
                         "any exponents, subnormals", "cancelling",
                         "any bits, infinities and NaN"};
  for (int kind = 0; kind < 5; ++kind) {
    MmaCases cases(2048);
    auto bf16 = [&]() -> uint16_t {
      switch (kind) {
      case 0:
        return toBf16(spreadNumber(0));
      case 1:
        return toBf16(spreadNumber(30));
      case 3:
        return toBf16(float(int(generator() % 17) - 8));
      case 2:
      default: {
        uint16_t bits = uint16_t(generator());
        // Limits the number of infinities: most exponents are in the lower two
        // thirds.
        if (kind == 2 && (bits & 0x7f80) > 0x5000)
          bits &= 0x3fff;
        return bits;
      }
      }
    };
    for (uint16_t &x : cases.a)
      x = bf16();
    for (uint16_t &x : cases.b)
      x = bf16();
    for (float &x : cases.c) {
      uint32_t bits = generator();
      x = kind == 3   ? float(int(generator() % 257) - 128)
          : kind >= 2 ? bitsToFloat(kind == 2 && (bits >> 23 & 255) > 160
                                        ? bits & 0xbfffffffu
                                        : bits)
                      : spreadNumber(kind * 30);
    }
    cases.run();
    size_t hits = cases.hits(model, 6);
    report(std::string("mma bf16, outputs, ") + names[kind],
           double(cases.c.size()));
    expect(std::string("mma bf16, the model's bits, ") + names[kind],
           hits == cases.c.size(), double(hits));
  }
}

void mtp::gpu_check::runNumbers() { testModel(findModel()); }
