//===- NoCudaDevice.cpp - A runtime that was built without CUDA -----------===//

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/TuneGemms.h"

using namespace mtp;

static Status notBuilt() {
  return failedPrecondition("this runtime was built without CUDA's headers "
                            "(cuda.h of CUDA 13 or later), and runs nothing "
                            "on GPUs");
}

Result<std::unique_ptr<Device>> mtp::createCudaDevice(const CudaOptions &) {
  return notBuilt();
}

Result<CudaMachine> mtp::findCudaMachine(const CudaOptions &) {
  return notBuilt();
}

Result<TunedGemms> mtp::tuneGemms(std::span<const GemmToTune>) {
  return notBuilt();
}
