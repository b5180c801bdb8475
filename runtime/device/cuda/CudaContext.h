//===- CudaContext.h - One GPU, its context and what is there ---*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/device/cuda/DriverApi.h"
#include "runtime/device/cuda/ImageChoice.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace mtp {

class GemmLibrary;
class LoadedPlan;

/// A device of the driver, and its primary context as long as the object lives.
/// Any thread may use it, after enter().
class CudaContext {
public:
  /// The context of a driver's library (empty: what the variable
  /// MTP_CUDA_DRIVER of the environment names, else libcuda.so.1) and of its
  /// device of that number: one at a time for each, so that all sessions of a
  /// process share weights, and a lost device is lost for all. When nobody has
  /// the lost one any more, the next one asks the driver for another: CUDA
  /// promises it to a new process only. InvalidArgument where there is no such
  /// device.
  static Result<std::shared_ptr<CudaContext>> open(const std::string &driver,
                                                   uint32_t ordinal = 0);
  ~CudaContext();

  const DriverApi &driver() const { return api; }
  const CudaMachine &machine() const { return device; }
  /// "NVIDIA H100 80GB HBM3".
  const std::string &name() const { return deviceName; }
  /// Bytes of the L2 cache.
  uint64_t cacheBytes() const { return uint64_t(l2Bytes); }
  /// Bytes of a processor's shared memory, at most.
  uint64_t sharedBytes() const { return uint64_t(processorBytes); }

  CUcontext current() const { return context; }

  /// Makes the context the calling thread's. Internal where the device is lost.
  Status enter() const;

  /// A failure while the device works, `what` being what failed. Where memory
  /// is short nothing was begun, and the device goes on: ResourceExhausted.
  /// Else nobody knows whether it can, so it is lost. OK where `result` is.
  Status check(CUresult result, std::string_view what);
  /// The device is lost, since what is in the stream does not end: neither the
  /// stream nor the context is given back.
  Status giveUp(CUstream stream, std::string_view what);

  /// Bytes that nobody has allocated.
  Result<uint64_t> freeBytes() const;

  /// What executables of the same plan share, weights among it.
  struct Shared {
    std::mutex mutex;
    std::vector<std::weak_ptr<LoadedPlan>> plans;
    std::weak_ptr<GemmLibrary> library;
    /// What executables and plans hold of the device. All of it is allocated,
    /// so that freeBytes() is without it.
    MemoryAccount memory;
  };
  Shared &shared() { return sharedState; }

private:
  CudaContext(const std::string &library, uint32_t ordinal)
      : library(library), ordinal(ordinal) {}
  Status start();
  Result<CUdevice> findDevice() const;
  Status probe(CUstream hanging) const;
  Status lose(std::string what, CUstream stream);

  std::string library;
  uint32_t ordinal;
  DriverApi api;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  CudaMachine device;
  std::string deviceName;
  int l2Bytes = 0, processorBytes = 1;
  std::atomic<bool> isLost = false;
  mutable std::mutex lossMutex;
  std::string loss;
  /// What does not end any more, where that was the loss.
  CUstream hanging = nullptr;
  Shared sharedState;
};

/// Memory of the device, freed with the object.
class CudaMemory {
public:
  CudaMemory() = default;
  CudaMemory(CudaMemory &&other) noexcept { *this = std::move(other); }
  CudaMemory &operator=(CudaMemory &&other) noexcept;
  ~CudaMemory();

  /// Zero bytes give a null address. The address is `residue` modulo
  /// kCudaAlignment, which memory in a larger one would be. `what` names the
  /// memory in the error.
  static Result<CudaMemory> allocate(std::shared_ptr<CudaContext> context,
                                     uint64_t bytes, uint64_t residue,
                                     const char *what);
  /// What that takes of the device: whole pages of 2 MiB, of which those below
  /// 1 MiB share some.
  static uint64_t footprint(uint64_t bytes, uint64_t residue);

  CUdeviceptr address() const { return start + shift; }
  uint64_t size() const { return length; }

  /// Behind it, the device must be waited for.
  Status zero();

  /// Nothing on a GPU. Where the driver watches what kernels read, they may
  /// read no more what another graph wrote here; or what was written until now.
  Status setScratch();
  Status forget();
  /// But for the next graph, which goes on with what the last one left.
  Status keepScratch();

private:
  std::shared_ptr<CudaContext> context;
  CUdeviceptr start = 0;
  uint64_t shift = 0, length = 0;
};

/// Memory of the host that the device reads and writes, freed with the object;
/// zeroed.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept;
  ~PinnedMemory();

  static Result<PinnedMemory> allocate(std::shared_ptr<CudaContext> context,
                                       uint64_t bytes, const char *what);

  /// Where the host and the device find it.
  uint8_t *data() const { return start; }
  CUdeviceptr address() const { return device; }
  uint64_t size() const { return length; }

private:
  std::shared_ptr<CudaContext> context;
  uint8_t *start = nullptr;
  CUdeviceptr device = 0;
  uint64_t length = 0;
};

/// What memory starts at a multiple of; no kernel asks for more.
inline constexpr uint64_t kCudaAlignment = 256;

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
