//===- DeviceChoice.h - Which plan of an artifact runs on what --*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_DEVICECHOICE_H
#define MTP_RUNTIME_EXEC_DEVICECHOICE_H

#include "mtp/model.h"
#include "runtime/device/cpu/CpuDevice.h"

namespace mtp {

struct PlanChoice {
  uint32_t plan = 0;
  /// Cpu or Cuda.
  DeviceKind device = DeviceKind::Cpu;
  /// The number of the GPU among the driver's.
  uint32_t gpu = 0;
};

/// Chooses the plan for the device that a user asked for. For a CPU, that is
/// the first plan that this machine can run, else a plan that the device
/// refuses. For a GPU, a single plan is taken as it is; of several, the GPU of
/// that number decides. Fails with FailedPrecondition if there is no plan for
/// such a device.
Result<PlanChoice> choosePlan(const Artifact &artifact, DeviceKind asked,
                              uint32_t gpu = 0);

/// Opens the CPU with these options, or the GPU of that number.
Result<std::unique_ptr<Device>> openDevice(DeviceKind device, uint32_t gpu,
                                           const CpuOptions &cpu);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_DEVICECHOICE_H
