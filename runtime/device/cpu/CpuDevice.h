//===- CpuDevice.h - The host as a device -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/device/Device.h"

namespace mtp {

struct CpuOptions {
  /// Threads that run kernels, the caller's included. Zero: one for every
  /// processor that the process may use.
  uint32_t threads = 0;
  /// Binds each thread, the caller's included, to a processor of its own.
  bool pin = false;
  /// Take all memory when a plan is loaded, where that is at most half of what
  /// is available, and else as it is used.
  bool populate = false;
};

/// The processors of this machine. Executables that it has loaded may outlive
/// it. Kernels read weights from the mapped file.
Result<std::unique_ptr<Device>> createCpuDevice(const CpuOptions &options);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
