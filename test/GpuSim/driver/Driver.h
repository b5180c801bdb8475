//===- Driver.h - Shared code of entry points -------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_DRIVER_H
#define MTP_TEST_GPUSIM_DRIVER_DRIVER_H

#include "test/GpuSim/machine/Report.h"
#include <cuda.h>
#include <mutex>

/// Declares an entry point under the name that cuda.h's macros make of it: the
/// versioned one, such as cuMemAlloc_v2.
#define MTP_API extern "C" __attribute__((visibility("default"))) CUresult

namespace mtp::gpusim {

/// Takes the simulator's lock, and refuses the call if the driver is not
/// initialised, no context is current, or the device is lost. Use:
///   Entry entry("cuMemAlloc");
///   if (entry.refused()) return entry.result();
class Entry {
public:
  enum Needs { Nothing, Driver, Context };

  explicit Entry(const char *name, Needs needs = Context);
  bool refused() const { return code != CUDA_SUCCESS; }
  /// Like refused(), for a call that takes memory of the device or the driver.
  /// A test may choose one of these calls to find no memory.
  bool refusedOrFull();
  CUresult result() const { return code; }

private:
  std::lock_guard<std::recursive_mutex> lock;
  const char *name;
  CUresult code = CUDA_SUCCESS;
};

/// Marks the run of a stream's host function: the driver may not be called
/// while an object lives.
class HostFunction {
public:
  HostFunction();
  ~HostFunction();
};

/// Marks the device as lost after a kernel's fault.
CUresult loseDevice(const std::string &fault);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_DRIVER_H
