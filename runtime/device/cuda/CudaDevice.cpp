//===- CudaDevice.cpp - An NVIDIA GPU as a device -------------------------===//

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/CudaExecutable.h"
#include "runtime/schema/Tunables.h"

using namespace mtp;

namespace {

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}

  Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
       uint64_t kvPages, std::vector<uint32_t> watchedStates) override;
  uint32_t preferredRounds() const override {
    return uint32_t(tunable::kRoundsPerLaunch.value);
  }
  std::string name() const override {
    const CudaMachine &machine = context->machine();
    return strCat(context->name(), ", sm_", machine.major, machine.minor);
  }
  DeviceVersion version() const override { return context->version(); }
  uint64_t cacheBytes() const override { return context->cacheBytes(); }
  Result<double> copyRate(uint64_t bytes) override;

private:
  std::shared_ptr<CudaContext> context;
};

} // namespace

Result<std::unique_ptr<Executable>>
CudaDevice::load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
                 uint64_t kvPages, std::vector<uint32_t> watchedStates) {
  auto executable = std::make_unique<CudaExecutable>(
      context, std::move(artifact), plan, kvPages, std::move(watchedStates));
  MTP_RETURN_IF_ERROR(executable->load());
  return std::unique_ptr<Executable>(std::move(executable));
}

/// Number of copies in a row. The second half is timed, because first copies
/// are slower. See tools/gpu-check/MEASURED.md.
static constexpr size_t kCopies = 16;

Result<double> CudaDevice::copyRate(uint64_t bytes) {
  bytes = std::min(bytes, context->driver().traits.longestCopy);
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_ASSIGN_OR_RETURN(CudaMemory from,
                       CudaMemory::allocate(context, bytes, 0, "a copy"));
  MTP_ASSIGN_OR_RETURN(CudaMemory to,
                       CudaMemory::allocate(context, bytes, 0, "a copy"));
  MTP_RETURN_IF_ERROR(from.zero());
  const DriverApi &driver = context->driver();
  CUevent events[2] = {};
  Status status;
  auto note = [&](CUresult result) {
    if (status.isOk())
      status = context->check(result, "a copy within the GPU");
  };
  for (CUevent &event : events)
    note(driver.cuEventCreate(&event, 0));
  for (size_t i = 0; i < kCopies; ++i) {
    if (i == kCopies / 2)
      note(driver.cuEventRecord(events[0], nullptr));
    note(
        driver.cuMemcpyDtoDAsync(to.address(), from.address(), bytes, nullptr));
  }
  note(driver.cuEventRecord(events[1], nullptr));
  note(driver.cuCtxSynchronize());
  float milliseconds = 0;
  note(driver.cuEventElapsedTime(&milliseconds, events[0], events[1]));
  for (CUevent event : events)
    note(driver.cuEventDestroy(event));
  MTP_RETURN_IF_ERROR(status);
  constexpr size_t kTimed = kCopies - kCopies / 2;
  return 2 * double(bytes) * double(kTimed) / (double(milliseconds) * 1e-3);
}

Result<std::unique_ptr<Device>>
mtp::createCudaDevice(const CudaOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context,
                       CudaContext::open(options.driver, options.ordinal));
  return std::unique_ptr<Device>(new CudaDevice(std::move(context)));
}

Result<CudaMachine> mtp::findCudaMachine(const CudaOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context,
                       CudaContext::open(options.driver, options.ordinal));
  return context->machine();
}
