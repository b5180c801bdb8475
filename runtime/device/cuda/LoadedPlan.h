//===- LoadedPlan.h - Code and weights of a plan on a GPU -------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H
#define MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/Upload.h"

#include <vector>

namespace mtp {

/// Modules, weights and constants of an artifact's plan. All executables of the
/// plan read them, and none writes them. Each weight and constant is an
/// allocation of its own, so that the simulator detects an access beyond its
/// end.
class LoadedPlan {
public:
  /// Returns the loaded plan, or null. The lock of context.shared() must be
  /// held.
  static std::shared_ptr<LoadedPlan>
  find(CudaContext &context, const ArtifactFile &file, uint32_t plan);
  /// Loads code and copies weights, so that find() returns the plan. The lock
  /// of context.shared() must be held, and chooseSegment() must succeed for all
  /// images.
  static Result<std::shared_ptr<LoadedPlan>>
  load(std::shared_ptr<CudaContext> context,
       std::shared_ptr<const ArtifactFile> file, uint32_t plan);
  ~LoadedPlan();

  /// Returns the device memory of weights and constants.
  static uint64_t footprint(const Plan &plan);

  /// Returns a kernel by its index in the plan, or null for a product of the
  /// library.
  CUfunction kernel(uint32_t index) const { return kernels[index]; }
  /// Kernels of runtime/schema/DeviceLoop.h. Null if the plan has no kernels.
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
  /// Largest shared memory of a kernel's block.
  uint64_t sharedBytes = 0;
  MemoryReservation reservation;
  std::vector<CudaMemory> weights, constants;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_LOADEDPLAN_H
