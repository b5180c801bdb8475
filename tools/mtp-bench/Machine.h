//===- Machine.h - What the machine can do, measured ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MACHINE_H
#define MTP_TOOLS_MTP_BENCH_MACHINE_H

#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/WorkerPool.h"
#include "tools/mtp-bench/Statistics.h"

namespace mtp::bench {

/// Measures read bandwidth and arithmetic of as many threads as the model gets,
/// bound to processors as the model's are.
class Machine {
public:
  /// Zero threads: all processors. Leaves the caller's binding as it was; with
  /// `pin`, bind the caller like worker 0 before measure().
  static Result<std::unique_ptr<Machine>> create(uint32_t threads, bool pin);

  /// Short tries, of about a millisecond, for `seconds` for each rate.
  MachineRates measure(double seconds);

  uint32_t threads() const { return pool->size(); }
  /// Bytes that are read, larger than any cache.
  uint64_t bufferBytes() const { return buffer.size(); }
  /// Of the last-level cache; zero when the system does not say.
  static uint64_t cacheBytes();

private:
  Machine() = default;
  Summary readRate(double seconds);
  Summary opsRate(Arithmetic type, double seconds);

  std::unique_ptr<WorkerPool> pool;
  HostMemory buffer;
  /// Where the next try reads from.
  uint64_t cursor = 0;
};

/// The processor's name, or "unknown processor".
std::string processorName();

/// Its vector instructions that kernels use, e.g. "AVX-512, bf16, VNNI".
std::string processorFeatures();

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MACHINE_H
