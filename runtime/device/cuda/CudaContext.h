//===- CudaContext.h - A GPU, its context and memory ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/DriverApi.h"
#include "runtime/device/cuda/ImageChoice.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace mtp {

class GemmLibrary;
class LoadedPlan;

/// A device of the driver, and its primary context while the object lives. Any
/// thread may use it after enter().
class CudaContext {
public:
  /// Opens the context of a driver library and of its device `ordinal`. An
  /// empty name means the value of the environment variable MTP_CUDA_DRIVER, or
  /// libcuda.so.1 if it is not set. A process has one context for each device,
  /// so all sessions share weights, and a lost device is lost for all of them.
  /// After the last owner has released a lost context, the next call asks the
  /// driver for a new one, although CUDA promises one to a new process only.
  /// Returns InvalidArgument if there is no such device.
  static Result<std::shared_ptr<CudaContext>> open(const std::string &driver,
                                                   uint32_t ordinal = 0);
  ~CudaContext();

  const DriverApi &driver() const { return api; }
  const CudaMachine &machine() const { return device; }
  /// Returns the name of the device, such as "NVIDIA H100 80GB HBM3".
  const std::string &name() const { return deviceName; }
  /// Returns the driver's version and the device's maximum clock rates.
  const DeviceVersion &version() const { return versions; }
  /// Returns the size of the L2 cache in bytes.
  uint64_t cacheBytes() const { return uint64_t(l2Bytes); }
  /// Returns the maximum size of a processor's shared memory in bytes.
  uint64_t sharedBytes() const { return uint64_t(processorBytes); }

  CUcontext current() const { return context; }

  /// Makes the context current in the calling thread. Returns Internal if the
  /// device is lost.
  Status enter() const;

  /// Turns the result of a call into a status. `what` names the action. If
  /// memory is short, nothing was started, the device is still usable, and the
  /// status is ResourceExhausted. After any other failure the state of the
  /// device is unknown, so it counts as lost.
  Status check(CUresult result, std::string_view what);
  /// Marks the device as lost because work in the stream does not end. Neither
  /// the stream nor the context is released.
  Status giveUp(CUstream stream, std::string_view what);

  /// Returns the number of free bytes.
  Result<uint64_t> freeBytes() const;

  /// Objects that executables of one plan share, including weights.
  struct Shared {
    std::mutex mutex;
    std::vector<std::weak_ptr<LoadedPlan>> plans;
    std::weak_ptr<GemmLibrary> library;
    /// Device memory that executables and plans hold. All of it is allocated,
    /// so freeBytes() does not include it.
    MemoryAccount memory;
  };
  Shared &shared() { return sharedState; }

private:
  CudaContext(const std::string &library, uint32_t ordinal)
      : library(library), ordinal(ordinal) {}
  Status start();
  Result<CUdevice> findDevice() const;
  void readVersion(CUdevice device);
  Status probe(CUstream hanging) const;
  Status lose(std::string what, CUstream stream);

  std::string library;
  uint32_t ordinal;
  DriverApi api;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  CudaMachine device;
  std::string deviceName;
  DeviceVersion versions;
  int l2Bytes = 0, processorBytes = 1;
  std::atomic<bool> isLost = false;
  mutable std::mutex lossMutex;
  std::string loss;
  /// Stream whose work does not end, if that was the loss.
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

  /// Allocates memory. Zero bytes give a null address. The address is `residue`
  /// modulo kCudaAlignment, as if the memory were part of a larger one. `what`
  /// names the memory in the error.
  static Result<CudaMemory> allocate(std::shared_ptr<CudaContext> context,
                                     uint64_t bytes, uint64_t residue,
                                     const char *what);
  /// Returns the device memory that an allocation takes: whole pages of 2 MiB.
  /// Allocations below 1 MiB share pages.
  static uint64_t footprint(uint64_t bytes, uint64_t residue);

  CUdeviceptr address() const { return start + shift; }
  uint64_t size() const { return length; }

  /// Zeroes the memory. The caller must wait for the device afterwards.
  Status zero();

  /// If the driver tracks reads, marks the memory as scratch (a graph may read
  /// only what it wrote itself) or as unwritten. Does nothing on a GPU.
  Status setScratch();
  Status forget();
  /// Lets the next graph read what the last graph wrote to scratch memory.
  Status keepScratch();

private:
  /// Calls a function of the driver's traits on the memory. Does nothing if the
  /// driver lacks the function, or if there is no memory.
  template <typename TraitT, typename... ArgTs>
  Status tellDriver(TraitT DriverTraits::*trait, const char *what,
                    ArgTs... args);

  std::shared_ptr<CudaContext> context;
  CUdeviceptr start = 0;
  uint64_t shift = 0, length = 0;
};

/// Memory of the host that the device reads and writes, zeroed at first. It is
/// freed with the object.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept;
  ~PinnedMemory();

  static Result<PinnedMemory> allocate(std::shared_ptr<CudaContext> context,
                                       uint64_t bytes, const char *what);

  /// Address of the memory for the host, and for the device.
  uint8_t *data() const { return start; }
  CUdeviceptr address() const { return device; }
  uint64_t size() const { return length; }

private:
  std::shared_ptr<CudaContext> context;
  uint8_t *start = nullptr;
  CUdeviceptr device = 0;
  uint64_t length = 0;
};

/// Alignment of all allocations. No kernel needs a larger one.
inline constexpr uint64_t kCudaAlignment = 256;

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
