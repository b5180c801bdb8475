//===- LinearBench.cpp - Weight bandwidth of linear against rows ----------===//
//
// Prints the rate at which linear streams its weights for several row counts,
// and the rate of a plain read of the same memory in the same run, by the CPU
// time of one thread. Only the ratios are meaningful: the bandwidth of a shared
// machine changes from minute to minute.
//
//   mtp_codegen_bench [k [n [dtype [target [group [scales [offset]]]]]]]
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/harness/Harness.h"

#include "test/Codegen/harness/Quantized.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

/// Total size of the weights of all copies; well above any cache.
static constexpr size_t totalBytes = size_t(256) << 20;

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Returns the seconds of the fastest of several runs over every copy.
static double fastest(size_t copies, const std::function<void(size_t)> &run) {
  double best = 1e9;
  for (int repeat = 0; repeat < 4; ++repeat)
    for (size_t copy = 0; copy < copies; ++copy) {
      double start = cpuSeconds();
      run(copy);
      best = std::min(best, cpuSeconds() - start);
    }
  return best;
}

static uint64_t readAll(const uint64_t *from, size_t words) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= words; i += 8)
    for (size_t j = 0; j < 8; ++j)
      sums[j] += from[i + j];
  uint64_t sum = 0;
  for (uint64_t part : sums)
    sum += part;
  return sum;
}

/// Memory that begins at a cache line, as weights and scratch of an artifact
/// do. A vector that crosses a line boundary is read twice.
class Lines {
public:
  explicit Lines(size_t bytes, uint8_t value = 0)
      : memory(bytes + kLine, value) {}
  uint8_t *data() {
    auto first = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (kLine - first % kLine) % kLine;
  }

private:
  static constexpr size_t kLine = 64;
  std::vector<uint8_t> memory;
};

/// Returns the size of n x k weights, and sets the config that describes their
/// storage.
static size_t describe(int k, int n, mtp::WeightFormat format,
                       std::string &config) {
  config = "k = " + std::to_string(k) + ", n = " + std::to_string(n);
  if (format.isQuantized())
    config += ", " + Quantization{format.elements, int(format.group),
                                  format.scales, format.hasOffset}
                         .config();
  else
    config += ", format = <" + std::string(format.name()) + ">";
  return format.panelBytes(k, 32) * ((n + 31) / 32);
}

int main(int argc, char **argv) {
  int k = argc > 1 ? std::atoi(argv[1]) : 2048;
  int n = argc > 2 ? std::atoi(argv[2]) : 8192;
  mtp::WeightFormat format;
  format.elements = mtp::findWeightElements(argc > 3 ? argv[3] : "bf16")
                        .value_or(mtp::WeightElements::BF16);
  if (format.isQuantized())
    format.group = argc > 5 ? std::atoi(argv[5]) : int(mtp::kDefaultQuantGroup);
  for (size_t i = 0; i < std::size(mtp::kWeightScales) && argc > 6; ++i)
    if (argv[6] == mtp::kWeightScales[i])
      format.scales = mtp::WeightScales(i);
  format.hasOffset = argc > 7;
  auto target = TargetDesc::parse(argc > 4 ? argv[4] : "native");
  if (!target) {
    std::fprintf(stderr, "%s\n", llvm::toString(target.takeError()).c_str());
    return 1;
  }
  std::string config;
  size_t bytes = describe(k, n, format, config);
  Kernel kernel(*target, "linear", config);
  size_t copies = std::max<size_t>(2, totalBytes / bytes);
  Lines weights(bytes * copies, 0x3c), scratch(kernel.scratchBytes());
  std::vector<float> x(size_t(64) * k, 0.5f), y(size_t(64) * n);

  volatile uint64_t sink = 0;
  double read = fastest(copies, [&](size_t copy) {
    sink = sink + readAll(reinterpret_cast<const uint64_t *>(weights.data() +
                                                             copy * bytes),
                          bytes / 8);
  });
  std::printf("read  %6.1f GB/s\n", double(bytes) / read * 1e-9);
  double one = 0;
  for (int rows : {1, 2, 3, 4, 5, 6, 8, 16, 64}) {
    double time = fastest(copies, [&](size_t copy) {
      void *buffers[] = {x.data(), weights.data() + copy * bytes, y.data()};
      int64_t params[] = {rows};
      kernel.entry()(buffers, params, 0, kernel.tasks(rows), scratch.data());
    });
    one = rows == 1 ? time : one;
    std::printf("M=%-3d %6.1f GB/s  %7.3f ms  %5.2f of M=1  %6.1f GFLOP/s\n",
                rows, double(bytes) / time * 1e-9, time * 1e3, time / one,
                2.0 * rows * n * k / time * 1e-9);
  }
}
