//===- MachineLoops.h - Loops that measure a processor ----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_MACHINELOOPS_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_MACHINELOOPS_H

#include "tools/mtp-bench/measure/Statistics.h"

#include <cstddef>
#include <cstdint>

namespace mtp::bench {

/// Reads `bytes`, a multiple of 1024, with the widest loads. Returns a number
/// that depends on all of them.
uint64_t readAll(const uint8_t *data, size_t bytes);

/// Multiplies and adds in registers for `steps` steps. `result` keeps the
/// compiler from removing the loop.
using ArithmeticLoop = void (*)(int64_t steps, float *result);

/// The fastest loop of this processor for a type, and its operations per step;
/// null if the processor has no separate instruction for the type.
struct ArithmeticKernel {
  ArithmeticLoop loop = nullptr;
  double opsPerStep = 0;
};
ArithmeticKernel arithmeticKernel(Arithmetic type);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_MACHINELOOPS_H
