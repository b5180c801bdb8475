//===- SampleBench.cpp - Time to sample a row -----------------------------===//
//
// Measures sampling on one thread, by the thread's CPU time. Prints the
// milliseconds of the fastest of many picks from one row of logits, for every
// instruction set of this processor.
//
//   mtp_sample_bench [vocabulary]
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Sample.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

using namespace mtp;

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

namespace {
struct Case {
  const char *name;
  float temperature;
  int32_t topK;
  float topP, minP;
};
constexpr Case kCases[] = {{"greedy", 0, 0, 1, 0},
                           {"T = 1", 1, 0, 1, 0},
                           {"T = 1, min-p 0.05", 1, 0, 1, 0.05f},
                           {"T = 1, top-k 50", 1, 50, 1, 0},
                           {"T = 1, top-p 0.95", 1, 0, 0.95f, 0},
                           {"T = 0.7, top-p 0.95", 0.7f, 0, 0.95f, 0},
                           {"T = 1, all three", 1, 50, 0.95f, 0.05f}};
} // namespace

static double fastest(const SampleInput &input, const Case &c,
                      const SampleKernels &kernels) {
  std::vector<uint64_t> scratch(input.logits.size());
  SamplingRow sampling = {1, 2, c.temperature, c.topK, c.topP, c.minP, 0, 0};
  double best = 1;
  volatile int32_t sink;
  for (int32_t position = 0; position < 200; ++position) {
    double start = cpuSeconds();
    sink = sampleToken(input.logits, input.tokens, sampling, position, scratch,
                       kernels);
    best = std::min(best, cpuSeconds() - start);
  }
  (void)sink;
  return best;
}

static void print(const char *name, const SampleInput &input) {
  std::printf("%-28s", name);
  for (const SampleKernels *kernels : sampleKernels())
    std::printf("%10s", kernels->name);
  std::printf("\n");
  for (const Case &c : kCases) {
    std::printf("  %-26s", c.name);
    for (const SampleKernels *kernels : sampleKernels())
      std::printf("%10.3f", fastest(input, c, *kernels) * 1e3);
    std::printf("\n");
  }
}

int main(int argc, char **argv) {
  size_t vocab = argc > 1 ? size_t(std::atol(argv[1])) : 129280;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> flat(vocab), peaked(vocab), equal(vocab, 1.0f);
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < vocab; ++i) {
    flat[i] = normal(random);
    // Few likely tokens over a wide floor, as in a language model.
    peaked[i] =
        2.5f * normal(random) + (i % 1001 == 7 ? 10 + 2 * normal(random) : 0);
    if (i % 4 == 0)
      tokens.push_back(int32_t(i));
  }
  std::printf("milliseconds a row, %zu tokens\n", vocab);
  print("N(0, 1)", {flat, {}});
  print("peaked", {peaked, {}});
  print("all equal", {equal, {}});
  print("N(0, 1), a quarter, mapped",
        {std::span<const float>(flat).first(tokens.size()), tokens});
}
