//===- AttentionBench.cpp - Time of attention against rows of a slot ------===//
//
// Prints the CPU time of one thread for attention over the last rows of a slot,
// at several contexts. Also prints its ratio to the time of one row: the cost
// of a verify step relative to a plain step. The last column is a tree of 64
// nodes, relative to 64 rows of a prompt. The shapes are the bundled model's
// (absorbed MLA) and a small model's with grouped heads.
//
//   mtp_attention_bench [target [split [caches [dtype]]]]
//
// The type of the caches is bf16 or i8.
//
// Calls take `caches` caches in turn. With one, the entries stay in the
// processor's caches if they fit. With sixteen, they come from memory, as in a
// model.
//
//===----------------------------------------------------------------------===//

#include "runtime/schema/KvPage.h"
#include "test/Codegen/harness/Harness.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <span>
#include <sys/mman.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct Shape {
  const char *name;
  int qHeads, kvHeads, dk, dv, columns, vOffset, cacheHeads;
  bool integers = false;

  int entry() const {
    return integers
               ? cacheHeads * int(mtp::integerShareBytes(columns / cacheHeads))
               : columns;
  }
};

constexpr Shape shapes[] = {
    {"latent 4/1 80/64", 4, 1, 80, 64, 80, 0, 1},
    {"grouped 32/8 64/64", 32, 8, 64, 64, 1024, 512, 8}};
constexpr int page = 16, maxContext = 4096, maxPages = maxContext / page;
constexpr int rowCounts[] = {1, 2, 3, 4, 8, 64};
constexpr int nodes = 64, mostDepth = 16;

} // namespace

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Lowers `best` to the seconds of one call, measured over a series of calls of
/// some tenths of a millisecond. Reading the clock takes as long as a call.
static void measure(double &best, const std::function<void()> &run) {
  int calls = best < 1 ? 1 + int(3e-4 / best) : 1;
  double start = cpuSeconds();
  for (int i = 0; i < calls; ++i)
    run();
  best = std::min(best, (cpuSeconds() - start) / calls);
}

/// Several caches in large pages, as in the runtime.
struct Caches {
  Caches(const Shape &s, int count)
      : bytes(size_t(maxContext) * s.entry() * (s.integers ? 1 : 2)),
        count(count) {
    size_t pages = (bytes * count + largePage - 1) / largePage * largePage;
    data = static_cast<uint8_t *>(std::aligned_alloc(largePage, pages));
    madvise(data, pages, MADV_HUGEPAGE);
    // Integers and their scales are bytes of 0x3c, which make scales of 0.0115.
    std::memset(data, 0x3c, bytes * count);
    if (s.integers)
      return;
    std::vector<float> floats = randomFloats(bytes / 2, 1);
    for (int i = 0; i < count; ++i)
      std::transform(floats.begin(), floats.end(),
                     reinterpret_cast<uint16_t *>(data + i * bytes), bf16Bits);
  }
  Caches(const Caches &) = delete;
  ~Caches() { std::free(data); }
  uint8_t *next() { return data + turn++ % count * bytes; }

  static constexpr size_t largePage = 2 << 20;
  size_t bytes, count, turn = 0;
  uint8_t *data;
};

/// Returns the part of a random tree that each node sees.
static std::vector<int64_t> treeMasks() {
  std::mt19937 random(3);
  std::vector<int64_t> masks{1};
  while (masks.size() < nodes) {
    int64_t above = masks[random() % masks.size()];
    if (std::popcount(uint64_t(above)) <= mostDepth)
      masks.push_back(above | int64_t(uint64_t(1) << masks.size()));
  }
  return masks;
}

static std::string configOf(const Shape &s, int split) {
  auto number = [](const char *key, int value) {
    return std::string(key) + " = " + std::to_string(value) + ", ";
  };
  return number("q_heads", s.qHeads) + number("kv_heads", s.kvHeads) +
         number("dk", s.dk) + number("dv", s.dv) + number("page", page) +
         number("entry_width", s.entry()) + number("v_offset", s.vOffset) +
         number("cache_heads", s.cacheHeads) + number("split", split) +
         "scale = 0.1 : f32, dtype = " + (s.integers ? "i8" : "bf16");
}

static void printHead(const Shape &s, double seconds) {
  std::printf("%s: compiled in %.0f ms\n context", s.name, seconds * 1e3);
  for (int rows : rowCounts)
    std::printf("           M=%-2d", rows);
  std::printf("     tree M=%-2d   (microseconds, over M=1; over M=64)\n",
              nodes);
}

static void printTimes(int context, std::span<const double> best,
                       double ofTree) {
  std::printf("%8d", context);
  for (double seconds : best)
    std::printf("  %8.2f %5.2f", seconds * 1e6, seconds / best[0]);
  std::printf("  %8.2f %5.2f\n", ofTree * 1e6, ofTree / best.back());
}

static void benchShape(const TargetDesc &target, const Shape &s, int split,
                       int cacheCount) {
  double start = cpuSeconds();
  std::string config = configOf(s, split);
  Kernel kernel(target, "attention", config);
  Kernel tree(target, "attention_tree", config);
  printHead(s, cpuSeconds() - start);

  Caches caches(s, cacheCount);
  std::vector<int32_t> table(maxPages);
  for (int i = 0; i < maxPages; ++i)
    table[i] = (i * 7 + 3) % maxPages;
  std::vector<float> q = randomFloats(size_t(64) * s.qHeads * s.dk, 2);
  std::vector<float> y(size_t(64) * s.qHeads * s.dv);
  std::vector<int32_t> slots(64, 0), positions(64);
  std::vector<int64_t> masks = treeMasks();
  std::vector<uint8_t> scratch(
      std::max(kernel.scratchBytes(), tree.scratchBytes()) + 64);
  auto aligned = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;

  for (int context : {64, 256, 600, 1024, 4096}) {
    double best[std::size(rowCounts)], ofTree = 1e9;
    std::fill(std::begin(best), std::end(best), 1e9);
    for (int turn = 0; turn < 40; ++turn) {
      for (size_t i = 0; i < std::size(rowCounts); ++i) {
        int rows = rowCounts[i];
        for (int r = 0; r < rows; ++r)
          positions[r] = context - rows + r;
        int64_t params[] = {rows, maxPages}, tasks = kernel.tasks(rows);
        measure(best[i], [&] {
          void *buffers[] = {q.data(),     slots.data(),  positions.data(),
                             table.data(), caches.next(), y.data()};
          kernel.entry()(buffers, params, 0, tasks,
                         reinterpret_cast<void *>(aligned));
        });
      }
      std::fill(positions.begin(), positions.end(), context - nodes);
      int64_t params[] = {nodes, maxPages}, tasks = tree.tasks(nodes);
      measure(ofTree, [&] {
        void *buffers[] = {q.data(),     slots.data(),  positions.data(),
                           table.data(), caches.next(), masks.data(),
                           y.data()};
        tree.entry()(buffers, params, 0, tasks,
                     reinterpret_cast<void *>(aligned));
      });
    }
    printTimes(context, best, ofTree);
  }
}

int main(int argc, char **argv) {
  auto target = TargetDesc::parse(argc > 1 ? argv[1] : "native");
  if (!target) {
    std::fprintf(stderr, "%s\n", llvm::toString(target.takeError()).c_str());
    return 1;
  }
  for (Shape shape : shapes) {
    shape.integers = argc > 4 && std::string(argv[4]) == "i8";
    benchShape(*target, shape, argc > 2 ? std::atoi(argv[2]) : 0,
               std::max(1, argc > 3 ? std::atoi(argv[3]) : 1));
  }
}
