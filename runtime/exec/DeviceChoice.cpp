//===- DeviceChoice.cpp - Which plan of an artifact runs on what ----------===//

#include "runtime/exec/DeviceChoice.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/CudaDevice.h"

using namespace mtp;

static Status missingPlan(const Artifact &artifact, std::string_view device,
                          std::string_view flag) {
  std::string got;
  for (const Plan &plan : artifact.plans)
    got += strCat(got.empty() ? "" : ", ", plan.target->arch()->string_view());
  return failedPrecondition(strCat("expected an artifact with a plan for ",
                                   device, " (mtpc ", flag, "), got one for ",
                                   got));
}

static Result<PlanChoice> chooseGpuPlan(const Artifact &artifact,
                                        const std::vector<uint32_t> &plans,
                                        uint32_t gpu) {
  // With a single plan, the machine need not be looked at before a session
  // begins.
  if (plans.size() == 1)
    return PlanChoice{plans.front(), DeviceKind::Cuda, gpu};
  MTP_ASSIGN_OR_RETURN(CudaMachine machine, findCudaMachine({.ordinal = gpu}));
  MTP_ASSIGN_OR_RETURN(uint32_t plan, choosePlan(artifact, machine));
  return PlanChoice{plan, DeviceKind::Cuda, gpu};
}

Result<PlanChoice> mtp::choosePlan(const Artifact &artifact, DeviceKind asked,
                                   uint32_t gpu) {
  std::vector<uint32_t> plans;
  for (uint32_t i = 0; i < artifact.plans.size(); ++i)
    if (artifact.plans[i].isGpu())
      plans.push_back(i);
  bool hasCpu = plans.size() < artifact.plans.size();
  bool wantsGpu =
      asked == DeviceKind::Cuda || (asked == DeviceKind::Auto && !hasCpu);
  if (wantsGpu && plans.empty())
    return missingPlan(artifact, "an NVIDIA GPU", "--target=cuda");
  if (wantsGpu)
    return chooseGpuPlan(artifact, plans, gpu);
  if (!hasCpu)
    return missingPlan(artifact, "a CPU", "--target=cpu");
  return PlanChoice{chooseCpuPlan(artifact), DeviceKind::Cpu};
}

Result<std::unique_ptr<Device>> mtp::openDevice(DeviceKind device, uint32_t gpu,
                                                const CpuOptions &cpu) {
  return device == DeviceKind::Cuda ? createCudaDevice({.ordinal = gpu})
                                    : createCpuDevice(cpu);
}
