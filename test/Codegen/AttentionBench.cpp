//===- AttentionBench.cpp - Time of attention against rows of a slot ------===//
//
// Prints, for one thread and by that thread's CPU time, what attention takes
// for the last rows of one slot, at several contexts, and that over the time of
// one row: what a verify window pays beside a plain step. The shapes are those
// of the bundled model (absorbed MLA) and of a small model with grouped heads.
//
//   mtp_attention_bench [target [part]]
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct Shape {
  const char *name;
  int qHeads, kvHeads, dk, dv, entry, vOffset, cacheHeads;
};

constexpr Shape shapes[] = {
    {"latent 4/1 80/64", 4, 1, 80, 64, 80, 0, 1},
    {"grouped 32/8 64/64", 32, 8, 64, 64, 1024, 512, 8}};
constexpr int page = 16, maxContext = 4096, maxPages = maxContext / page;
constexpr int rowCounts[] = {1, 2, 3, 4, 8, 64};

} // namespace

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Lowers `best` to the seconds of one call in a series of them, as many as
/// take some tenths of a millisecond: reading the clock is a call by itself.
static void measure(double &best, const std::function<void()> &run) {
  int calls = best < 1 ? 1 + int(3e-4 / best) : 1;
  double start = cpuSeconds();
  for (int i = 0; i < calls; ++i)
    run();
  best = std::min(best, (cpuSeconds() - start) / calls);
}

static void benchShape(const TargetDesc &target, const Shape &s, int part) {
  double start = cpuSeconds();
  auto number = [](const char *key, int value) {
    return std::string(key) + " = " + std::to_string(value) + ", ";
  };
  Kernel kernel(target, "attention",
                number("q_heads", s.qHeads) + number("kv_heads", s.kvHeads) +
                    number("dk", s.dk) + number("dv", s.dv) +
                    number("page", page) + number("entry_width", s.entry) +
                    number("v_offset", s.vOffset) +
                    number("cache_heads", s.cacheHeads) + number("part", part) +
                    "scale = 0.1 : f32, dtype = \"bf16\"");
  std::printf("%s: compiled in %.0f ms\n context", s.name,
              (cpuSeconds() - start) * 1e3);
  for (int rows : rowCounts)
    std::printf("           M=%-2d", rows);
  std::printf("   (microseconds, over M=1)\n");

  std::vector<uint16_t> cache(size_t(maxContext) * s.entry);
  std::vector<float> floats = randomFloats(cache.size(), 1);
  std::transform(floats.begin(), floats.end(), cache.begin(), bf16Bits);
  std::vector<int32_t> table(maxPages);
  for (int i = 0; i < maxPages; ++i)
    table[i] = (i * 7 + 3) % maxPages;
  std::vector<float> q = randomFloats(size_t(64) * s.qHeads * s.dk, 2);
  std::vector<float> y(size_t(64) * s.qHeads * s.dv);
  std::vector<int32_t> slots(64, 0), positions(64);
  std::vector<uint8_t> scratch(kernel.scratchBytes() + 64);
  auto aligned = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;

  for (int context : {64, 256, 600, 1024, 4096}) {
    double best[std::size(rowCounts)];
    std::fill(std::begin(best), std::end(best), 1e9);
    for (int turn = 0; turn < 40; ++turn)
      for (size_t i = 0; i < std::size(rowCounts); ++i) {
        int rows = rowCounts[i];
        for (int r = 0; r < rows; ++r)
          positions[r] = context - rows + r;
        void *buffers[] = {q.data(),     slots.data(), positions.data(),
                           table.data(), cache.data(), y.data()};
        int64_t params[] = {rows, maxPages}, tasks = kernel.tasks(rows);
        measure(best[i], [&] {
          kernel.entry()(buffers, params, 0, tasks,
                         reinterpret_cast<void *>(aligned));
        });
      }
    std::printf("%8d", context);
    for (double seconds : best)
      std::printf("  %8.2f %5.2f", seconds * 1e6, seconds / best[0]);
    std::printf("\n");
  }
}

int main(int argc, char **argv) {
  auto target = TargetDesc::parse(argc > 1 ? argv[1] : "native");
  if (!target) {
    std::fprintf(stderr, "%s\n", llvm::toString(target.takeError()).c_str());
    return 1;
  }
  for (const Shape &shape : shapes)
    benchShape(*target, shape, argc > 2 ? std::atoi(argv[2]) : 0);
}
