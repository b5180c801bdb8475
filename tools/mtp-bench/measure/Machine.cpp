//===- Machine.cpp - Measure the machine's limits -------------------------===//

#include "tools/mtp-bench/measure/Machine.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/measure/MachineLoops.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <unistd.h>
#include <utility>

using namespace mtp;
using namespace mtp::bench;

static constexpr uint64_t kLeastBuffer = uint64_t(256) << 20;
static constexpr uint64_t kMostBuffer = uint64_t(2) << 30;
/// A try takes about as long as a step of a small model, so that other programs
/// disturb some tries but not all.
static constexpr uint64_t kSliceBytes = uint64_t(32) << 20;
static constexpr int64_t kSteps = 200'000;
static constexpr size_t kLeastTries = 3;

static uint64_t lastLevelBytes() {
  // On some processors sysconf() returns the sum over the package; the file
  // gives the size that one core sees.
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  uint64_t kilobytes = 0;
  if (file >> kilobytes && kilobytes > 0)
    return kilobytes << 10;
  long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? uint64_t(bytes) : 0;
}

Result<std::unique_ptr<Machine>> Machine::create(uint32_t threads, bool pin) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  std::unique_ptr<Machine> machine(new Machine());
  MTP_ASSIGN_OR_RETURN(
      machine->pool,
      WorkerPool::create(threads ? threads : usableProcessors(), pin));
  // The next device binds its workers within this set.
  ::sched_setaffinity(0, sizeof(allowed), &allowed);
  MTP_ASSIGN_OR_RETURN(
      machine->buffer,
      HostMemory::allocate(
          std::clamp(4 * lastLevelBytes(), kLeastBuffer, kMostBuffer),
          "the buffer that bandwidth is measured with"));
  std::memset(machine->buffer.data(), 1, machine->buffer.size());
  return machine;
}

/// Runs `job` on all workers; returns the seconds until the last one is done.
template <typename JobT>
static double timeAll(WorkerPool &pool, JobT &job) {
  auto call = [](void *context, uint32_t, uint32_t begin, uint32_t end,
                 uint32_t) {
    for (uint32_t share = begin; share < end; ++share)
      (*static_cast<JobT *>(context))(share);
  };
  uint32_t shares[] = {pool.size()};
  auto begin = std::chrono::steady_clock::now();
  pool.run({shares, call, &job});
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

/// Measures an amount per second in tries, for `seconds`.
template <typename TryT>
static Summary rateOf(double seconds, TryT oneTry) {
  std::vector<double> rates;
  for (double spent = 0; rates.size() < kLeastTries || spent < seconds;) {
    auto [amount, time] = oneTry();
    rates.push_back(amount / time);
    spent += time;
  }
  return summarize(rates);
}

Summary Machine::readRate(double seconds) {
  // The buffer is read cyclically, one slice at a time, and so never from a
  // cache.
  uint64_t share = kSliceBytes / pool->size() / 1024 * 1024;
  std::vector<uint64_t> sums(size_t(pool->size()) * 8, 0);
  auto job = [&](uint32_t worker) {
    sums[size_t(worker) * 8] +=
        readAll(buffer.data() + cursor + worker * share, share);
  };
  Summary rate = rateOf(seconds, [&] {
    double time = timeAll(*pool, job);
    cursor =
        (cursor + kSliceBytes) % (buffer.size() / kSliceBytes * kSliceBytes);
    return std::pair(double(share * pool->size()), time);
  });
  volatile uint64_t sink = sums[0];
  (void)sink;
  return rate;
}

Summary Machine::opsRate(Arithmetic type, double seconds) {
  ArithmeticKernel kernel = arithmeticKernel(type);
  if (!kernel.loop)
    return {};
  // Each worker's factors and sum have a cache line of their own. The factors
  // keep a sum of products from growing and from becoming denormal.
  std::vector<float> lines(size_t(pool->size()) * 16);
  auto job = [&](uint32_t worker) {
    float *line = &lines[size_t(worker) * 16];
    line[0] = line[1] = 0.5f;
    kernel.loop(kSteps, line);
  };
  double amount = kernel.opsPerStep * double(kSteps) * pool->size();
  Summary rate =
      rateOf(seconds, [&] { return std::pair(amount, timeAll(*pool, job)); });
  volatile float sink = lines[0];
  (void)sink;
  return rate;
}

/// Limit on the bytes to copy. Less is copied if there is less memory.
static constexpr uint64_t kMostCopy = uint64_t(4) << 30;
static constexpr uint64_t kLeastCopy = uint64_t(1) << 20;

std::unique_ptr<Machine> Machine::create(std::unique_ptr<Device> gpu) {
  std::unique_ptr<Machine> machine(new Machine());
  machine->gpu = std::move(gpu);
  machine->copyBytes = kMostCopy;
  return machine;
}

MachineRates Machine::measureCopies(double seconds) {
  std::vector<double> tries;
  for (double spent = 0; tries.size() < kLeastTries || spent < seconds;) {
    Result<double> rate = gpu->copyRate(copyBytes);
    // Too little memory: a smaller copy is less accurate, but better than none.
    if (!rate && copyBytes > kLeastCopy) {
      copyBytes /= 2;
      continue;
    }
    tries.push_back(rate ? *rate : 0);
    spent += rate ? 2 * double(copyBytes) / *rate : seconds;
  }
  Summary copies = summarize(tries);
  MachineRates rates;
  rates.upper.bytes = copies.upper;
  rates.middle.bytes = copies.median;
  rates.fastest.bytes = copies.most;
  return rates;
}

MachineRates Machine::measure(double seconds) {
  if (gpu)
    return measureCopies(seconds);
  MachineRates rates;
  Summary read = readRate(seconds);
  rates.upper.bytes = read.upper;
  rates.middle.bytes = read.median;
  rates.fastest.bytes = read.most;
  for (size_t type = 0; type < kArithmetics; ++type) {
    Summary ops = opsRate(Arithmetic(type), seconds);
    rates.upper.ops[type] = ops.upper;
    rates.middle.ops[type] = ops.median;
    rates.fastest.ops[type] = ops.most;
  }
  return rates;
}

static std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

static std::string processorFeatures() {
  auto has = [](const char *name) {
    return cpuFeature(name) == FeatureState::Present;
  };
  std::string text = has("avx512f") ? "AVX-512" : has("avx2") ? "AVX2" : "";
  const std::pair<const char *, const char *> others[] = {
      {"avx512bf16", "bf16"}, {"avx512vnni", "VNNI"}, {"amx-tile", "AMX"}};
  for (auto [feature, name] : others)
    if (has(feature))
      text += strCat(text.empty() ? "" : ", ", name);
  return text;
}

std::string Machine::name() const {
  return gpu ? gpu->name() : processorName();
}

uint64_t Machine::cacheBytes() const {
  return gpu ? gpu->cacheBytes() : lastLevelBytes();
}

std::string Machine::features() const {
  return gpu ? "GPU" : processorFeatures();
}
