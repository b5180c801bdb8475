//===- Machine.h - Measure the machine's limits -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_MACHINE_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_MACHINE_H

#include "runtime/device/Device.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/WorkerPool.h"
#include "tools/mtp-bench/measure/Statistics.h"

namespace mtp::bench {

/// Measures the read bandwidth and arithmetic rate of the model's number of
/// threads, bound to processors like the model's; on a GPU the rate of a copy.
class Machine {
public:
  /// Zero threads: all processors. Leaves the caller's binding unchanged. With
  /// `pin`, bind the caller like worker 0 before measure().
  static Result<std::unique_ptr<Machine>> create(uint32_t threads, bool pin);

  /// Measures each rate for `seconds`, in tries of about a millisecond.
  MachineRates measure(double seconds);

  /// Creates a machine for a GPU. Its read rate is that of a copy, counted in
  /// both directions. Its arithmetic rate is not measured.
  static std::unique_ptr<Machine> create(std::unique_ptr<Device> gpu);

  /// Returns the number of threads; zero for a GPU.
  uint32_t threads() const { return pool ? pool->size() : 0; }
  /// Returns the number of bytes read, more than any cache holds.
  uint64_t bufferBytes() const { return gpu ? copyBytes : buffer.size(); }
  /// Returns the processor's or the GPU's name, or "unknown processor".
  std::string name() const;
  /// Returns the processor's instructions that kernels use, for example
  /// "AVX-512, bf16, VNNI", or "GPU".
  std::string features() const;
  /// Returns the size of the last-level cache; zero if unknown.
  uint64_t cacheBytes() const;

private:
  Machine() = default;
  Summary readRate(double seconds);
  Summary opsRate(Arithmetic type, double seconds);
  MachineRates measureCopies(double seconds);

  std::unique_ptr<WorkerPool> pool;
  HostMemory buffer;
  /// The position of the next try in the buffer.
  uint64_t cursor = 0;
  /// Null for a CPU.
  std::unique_ptr<Device> gpu;
  uint64_t copyBytes = 0;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_MACHINE_H
