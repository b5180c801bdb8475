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
  /// Of the driver's GPUs.
  uint32_t gpu = 0;
};

/// The plan for what a user asked for. Of a CPU's plans the first that this
/// machine can run, else one that the device refuses. A GPU's only plan is
/// taken as it is; of several the GPU of that number says which.
/// FailedPrecondition where there is no plan for such a device.
Result<PlanChoice> choosePlan(const Artifact &artifact, DeviceKind asked,
                              uint32_t gpu = 0);

/// Opens the CPU, with these options, or the GPU of that number.
Result<std::unique_ptr<Device>> openDevice(DeviceKind device, uint32_t gpu,
                                           const CpuOptions &cpu);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_DEVICECHOICE_H
