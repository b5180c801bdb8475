//===- LoadedPlan.h - Code and weights of a plan on a GPU -------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H
#define MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/Upload.h"

#include <vector>

namespace mtp {

/// What all executables of an artifact's plan read and none writes: modules,
/// weights and constants. Each weight and constant is an allocation of its own,
/// so that the simulator notices an access beyond one.
class LoadedPlan {
public:
  /// The one that is there, or null. Needs the lock of context.shared().
  static std::shared_ptr<LoadedPlan>
  find(CudaContext &context, const ArtifactFile &file, uint32_t plan);
  /// Loads code and copies weights; find() finds it then. Needs the same lock,
  /// and chooseSegment() to succeed for all images.
  static Result<std::shared_ptr<LoadedPlan>>
  load(std::shared_ptr<CudaContext> context,
       std::shared_ptr<const ArtifactFile> file, uint32_t plan);
  ~LoadedPlan();

  /// What weights and constants take of the device.
  static uint64_t footprint(const Plan &plan);

  /// Indexed like the plan's lists. Null for a product of the library.
  CUfunction kernel(uint32_t index) const { return kernels[index]; }
  /// Those of runtime/schema/DeviceLoop.h; null where the plan has no kernels.
  CUfunction deliver() const { return deliverKernel; }
  CUfunction nextRound() const { return nextRoundKernel; }
  CUdeviceptr weight(uint32_t index) const { return weights[index].address(); }
  CUdeviceptr constant(uint32_t index) const {
    return constants[index].address();
  }

private:
  LoadedPlan(std::shared_ptr<CudaContext> context,
             std::shared_ptr<const ArtifactFile> file, uint32_t plan)
      : context(std::move(context)), file(std::move(file)), index(plan) {}
  const Plan &plan() const { return file->artifact().plans[index]; }
  Status loadModules();
  Status findKernels();
  Status findLoopKernels();
  Status checkArguments(const schema::Kernel &kernel,
                        CUfunction function) const;
  Status prepare(const schema::Kernel &kernel, CUfunction function);
  Status setCarveout() const;
  Status copyWeights();
  Status copyBlobs(const Tables<schema::Blob> *blobs, const char *what,
                   std::vector<CudaMemory> &copies, Upload &upload);

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<const ArtifactFile> file;
  uint32_t index;
  std::vector<CUmodule> modules;
  std::vector<CUfunction> kernels;
  CUfunction deliverKernel = nullptr, nextRoundKernel = nullptr;
  /// Of the kernel's block that takes the most.
  uint64_t sharedBytes = 0;
  MemoryReservation reservation;
  std::vector<CudaMemory> weights, constants;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H
