//===- Numbers.cpp - Bits: mma, products, elementary functions ------------===//

#include "Emulation.h"
#include "Gpu.h"
#include "Layout.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

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

/// A number whose exponent varies by `spread` around 0, with a random sign.
static float spreadNumber(int spread) {
  float m = uniform(1, 2) * (generator() & 1 ? 1 : -1);
  return std::ldexp(m,
                    spread ? int(generator() % (2 * spread + 1)) - spread : 0);
}

//===----------------------------------------------------------------------===//
// One mma
//===----------------------------------------------------------------------===//

namespace {
/// Inputs of many mma, and what the device makes of them.
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
  /// Outputs that the model gives to the bit; NaN is NaN.
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
    // Alike, mixed and far apart; c from absent to large.
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

/// The model found, on other kinds of numbers.
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
        // Not all infinite: most exponents in the lower two thirds.
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
    report(std::string("mma bf16, model's bits, ") + names[kind] +
               ": of outputs",
           double(cases.c.size()));
    report(std::string("mma bf16, model's bits, ") + names[kind],
           double(cases.hits(model, 6)));
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Weights and 32 tokens of one shape, and what the host makes of them.
struct Problem {
  Layout layout;
  std::vector<uint8_t> packed;
  std::vector<float> weights, tokens; // the numbers as they are stored
  std::vector<float> weightScales, tokenScales;
  std::vector<uint16_t> weightBits, tokenBits;
};
} // namespace

static const size_t kTokens = 32;

static Problem makeProblem(const std::string &kind, size_t inputs, size_t rows,
                           size_t unroll) {
  Problem p;
  p.layout = {kind, inputs, rows, unroll};
  p.packed.resize(p.layout.bytes());
  size_t blocks = inputs / p.layout.block();
  bool quantized = p.layout.quantized();
  for (size_t r = 0; r < rows; ++r)
    for (size_t k = 0; k < inputs; ++k) {
      size_t nibble, at = p.layout.weight(r, k, nibble);
      if (!quantized) {
        uint16_t bits = toBf16(uniform(-1, 1));
        std::memcpy(&p.packed[at], &bits, 2);
        p.weightBits.push_back(bits);
        p.weights.push_back(fromBf16(bits));
      } else {
        int w = kind == "s8" ? int(generator() % 255) - 127
                             : int(generator() % 16) - 8;
        p.weights.push_back(float(w));
        if (kind == "s8")
          p.packed[at] = uint8_t(w);
        else
          p.packed[at] |= uint8_t((w & 15) << (4 * nibble));
      }
    }
  for (size_t i = 0; i < kTokens * inputs; ++i) {
    uint16_t bits = toBf16(uniform(-1, 1));
    p.tokenBits.push_back(bits);
    p.tokens.push_back(quantized ? float(int(generator() % 255) - 127)
                                 : fromBf16(bits));
  }
  if (!quantized)
    return p;
  for (size_t i = 0; i < kTokens * blocks; ++i)
    p.tokenScales.push_back(uniform(0.001f, 0.01f));
  for (size_t r = 0; r < rows; ++r)
    for (size_t s = 0; s < blocks; ++s) {
      p.weightScales.push_back(uniform(0.001f, 0.01f));
      float stored = p.weightScales.back() * (kind == "s4" ? 1.0f / 16 : 1.0f);
      std::memcpy(&p.packed[p.layout.scale(r, s)], &stored, 4);
    }
  return p;
}

/// One output in the kernels' order.
static float expected(const Problem &p, size_t token, size_t row, size_t warps,
                      bool strided, const MmaModel &model) {
  size_t blocks = p.layout.inputs / p.layout.block(), unroll = p.layout.unroll,
         chunks = blocks / unroll / warps;
  float total = 0;
  for (size_t w = 0; w < warps; ++w) {
    float sum = 0;
    for (size_t c = 0; c < chunks; ++c)
      for (size_t u = 0; u < unroll; ++u) {
        size_t s = (strided ? c * warps + w : w * chunks + c) * unroll + u;
        if (p.layout.quantized()) {
          int dot = 0;
          for (size_t k = s * 64; k < s * 64 + 64; ++k)
            dot += int(p.weights[row * p.layout.inputs + k]) *
                   int(p.tokens[token * p.layout.inputs + k]);
          sum = std::fma(float(dot) * p.tokenScales[token * blocks + s],
                         p.weightScales[row * blocks + s], sum);
          continue;
        }
        for (size_t j = 0; j < 2; ++j) {
          uint16_t a[16], b[16];
          for (size_t q = 0; q < 2; ++q)
            for (size_t t = 0; t < 4; ++t)
              for (size_t h = 0; h < 2; ++h) {
                size_t k = s * 32 + 8 * t + 4 * j + 2 * q + h;
                a[8 * q + 2 * t + h] = p.weightBits[row * p.layout.inputs + k];
                b[8 * q + 2 * t + h] = p.tokenBits[token * p.layout.inputs + k];
              }
          sum = model.run(sum, a, b);
        }
      }
    total = w ? total + sum : sum;
  }
  return total;
}

static std::vector<float> runProduct(const Entry &e, const Problem &p) {
  size_t tokens = size_t(e.number("tokens")), inputs = p.layout.inputs;
  size_t blocks = inputs / p.layout.block();
  std::vector<uint8_t> x(tokens * inputs * (p.layout.quantized() ? 1 : 2));
  size_t padded = (tokens + 7) / 8 * 8;
  std::vector<float> xs(padded * blocks);
  for (size_t n = 0; n < tokens; ++n) {
    for (size_t k = 0; k < inputs; ++k) {
      size_t at = p.layout.activation(n, k, tokens);
      if (p.layout.quantized())
        x[at] = uint8_t(int(p.tokens[n * inputs + k]));
      else
        std::memcpy(&x[at], &p.tokenBits[n * inputs + k], 2);
    }
    for (size_t s = 0; s < blocks && p.layout.quantized(); ++s)
      xs[s * padded + n] = p.tokenScales[n * blocks + s];
  }
  CUdeviceptr dw = upload(p.packed), dx = upload(x), dxs = upload(xs);
  std::vector<float> poison(tokens * p.layout.rows, NAN);
  CUdeviceptr dy = upload(poison);
  size_t shared = size_t(e.number("shared"));
  launch(function(e.text("name") + ".cubin", e.text("name"), shared),
         unsigned(e.number("grid")), unsigned(32 * e.number("warps")), shared,
         {dw, dx, dy, dxs});
  synchronize();
  return download<float>(dy, poison.size());
}

static void products(const MmaModel &model) {
  std::string shape;
  Problem problem;
  std::vector<float> first, host;
  for (const Entry &e : readManifest("check")) {
    // Kernels of the same shape follow one another; the one with the most
    // tokens is first.
    std::string key = e.text("kind") + " " + e.text("inputs") + " " +
                      e.text("rows") + " " + e.text("unroll") + " " +
                      e.text("strided") + " " + e.text("warps");
    bool fresh = key != shape;
    if (fresh) {
      shape = key;
      problem =
          makeProblem(e.text("kind"), size_t(e.number("inputs")),
                      size_t(e.number("rows")), size_t(e.number("unroll")));
    }
    std::vector<float> y = runProduct(e, problem);
    size_t rows = problem.layout.rows, wrong = 0, differ = 0;
    double error = 0, size = 0;
    if (fresh) {
      first = y;
      host.clear();
      for (size_t n = 0; n < y.size() / rows; ++n)
        for (size_t r = 0; r < rows; ++r)
          host.push_back(expected(problem, n, r, size_t(e.number("warps")),
                                  e.number("strided") != 0, model));
    }
    for (size_t i = 0; i < y.size(); ++i) {
      wrong += !(y[i] == host[i]);
      differ += std::memcmp(&y[i], &first[i], 4) != 0;
      error = std::max(error, double(std::fabs(y[i] - host[i])));
      if (!(y[i] - host[i] == y[i] - host[i]))
        error = INFINITY;
      size = std::max(size, double(std::fabs(host[i])));
    }
    std::string name = e.text("name") + ": ";
    report(name + "outputs", double(y.size()));
    report(name + "not the host's bits", double(wrong));
    report(name + "largest error over largest output", error / size);
    report(name + "not the bits of " + std::to_string(first.size() / rows) +
               " tokens",
           double(differ));
  }
}

//===----------------------------------------------------------------------===//
// Elementary functions
//===----------------------------------------------------------------------===//

/// As compiler/Codegen/Rows/MathApprox.cpp.
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

/// Counts where device and host differ, over pieces of 2^26 inputs.
static void compare(const std::string &name, const std::string &kernel,
                    uint64_t pieces,
                    const std::function<float(uint32_t, float &)> &z,
                    const std::function<float(float, float)> &host) {
  const size_t count = size_t(1) << 26;
  std::vector<float> xs(count), zs(count), y(count);
  CUdeviceptr dx = allocate(count * 4), dz = allocate(count * 4),
              dy = allocate(count * 4);
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
  for (uint64_t piece = 0; piece < pieces && now() - start < 30;
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
  report(name + ": other bits than the host's", double(sum));
  report(name + ": NaN on one side only", double(sumNan));
}

static uint32_t mix(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

static void elementary() {
  // An odd factor: all numbers, and a fair part of them if time ends it early.
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

void mtp::gpu_check::runNumbers() {
  MmaModel model = findModel();
  testModel(model);
  products(model);
  elementary();
}
