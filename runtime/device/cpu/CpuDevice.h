//===- CpuDevice.h - The host as a device -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/device/Device.h"

namespace mtp {

struct CpuOptions {
  /// Number of threads that run kernels, including the caller. Zero: one for
  /// every processor that the process may use.
  uint32_t threads = 0;
  /// Binds each thread, including the caller, to a processor of its own.
  bool pin = false;
  /// Takes all memory when a plan is loaded, if it is at most half of the
  /// available memory. Otherwise memory is taken when it is first used.
  bool populate = false;
};

/// Creates a device for the processors of this machine. Its executables may
/// outlive it. Kernels read weights from the mapped file.
Result<std::unique_ptr<Device>> createCpuDevice(const CpuOptions &options);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
