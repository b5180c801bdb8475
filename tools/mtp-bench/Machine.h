//===- Machine.h - What the machine can do, measured ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MACHINE_H
#define MTP_TOOLS_MTP_BENCH_MACHINE_H

#include "runtime/device/Device.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/WorkerPool.h"
#include "tools/mtp-bench/measure/Statistics.h"

namespace mtp::bench {

/// Measures read bandwidth and arithmetic of as many threads as the model gets,
/// bound to processors as the model's are; of a GPU the rate of a copy.
class Machine {
public:
  /// Zero threads: all processors. Leaves the caller's binding as it was; with
  /// `pin`, bind the caller like worker 0 before measure().
  static Result<std::unique_ptr<Machine>> create(uint32_t threads, bool pin);

  /// Short tries, of about a millisecond, for `seconds` for each rate.
  MachineRates measure(double seconds);

  /// A GPU: its read rate is that of a copy, counted in both directions, and
  /// what it can compute is not measured.
  static std::unique_ptr<Machine> create(std::unique_ptr<Device> gpu);

  /// Zero of a GPU.
  uint32_t threads() const { return pool ? pool->size() : 0; }
  /// Bytes that are read, larger than any cache.
  uint64_t bufferBytes() const { return gpu ? copyBytes : buffer.size(); }
  /// The processor's or the GPU's name, or "unknown processor".
  std::string name() const;
  /// Instructions of the processor that kernels use, e.g. "AVX-512, bf16,
  /// VNNI", or "GPU".
  std::string features() const;
  /// Of the cache before its memory; zero when the system does not say.
  uint64_t cacheBytes() const;

private:
  Machine() = default;
  Summary readRate(double seconds);
  Summary opsRate(Arithmetic type, double seconds);
  MachineRates measureCopies(double seconds);

  std::unique_ptr<WorkerPool> pool;
  HostMemory buffer;
  /// Where the next try reads from.
  uint64_t cursor = 0;
  /// Null of a CPU.
  std::unique_ptr<Device> gpu;
  uint64_t copyBytes = 0;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MACHINE_H
