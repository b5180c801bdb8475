//===- DriverMemory.cpp - Allocations, copies and fills -------------------===//

#include "Driver.h"

#include "Copy.h"
#include "Stream.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>
#include <memory>

using namespace mtp::gpusim;

MTP_API cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  Entry entry("cuMemAlloc");
  if (entry.refusedOrFull())
    return entry.result();
  if (!bytes)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuMemAlloc: expected at least one byte, got 0");
  Memory &memory = simulator().memory;
  Allocation *allocation = memory.allocate(bytes, MemoryKind::Device);
  if (!allocation)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY,
                  "cuMemAlloc: expected at most %zu bytes, which are free, "
                  "got %zu",
                  memory.unused(), bytes);
  *pointer = allocation->base;
  return CUDA_SUCCESS;
}

static CUresult freeMemory(const char *name, uintptr_t base, MemoryKind kind) {
  // As on the device: work that may use the memory ends first.
  if (CUresult failed = drainAll())
    return failed;
  Allocation *allocation = simulator().memory.find(base, 1);
  // Memory that the caller registered did not come from the driver.
  if (!allocation || allocation->base != base || allocation->kind != kind ||
      !allocation->mappedBytes)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "%s: expected an address that was given out, got one %s",
                  name, simulator().memory.describe(base).c_str());
  simulator().memory.free(base);
  return CUDA_SUCCESS;
}

MTP_API cuMemFree(CUdeviceptr pointer) {
  Entry entry("cuMemFree");
  if (entry.refused())
    return entry.result();
  return freeMemory("cuMemFree", pointer, MemoryKind::Device);
}

MTP_API cuMemGetInfo(size_t *unused, size_t *total) {
  Entry entry("cuMemGetInfo");
  *total = simulator().memory.total();
  *unused = simulator().memory.unused();
  return entry.result();
}

static CUresult allocateHost(const char *name, void **pointer, size_t bytes) {
  Entry entry(name);
  if (entry.refusedOrFull())
    return entry.result();
  bool mayGive = bytes && bytes <= uint64_t(simulator().injected.pinned);
  Allocation *allocation =
      mayGive ? simulator().memory.allocate(bytes, MemoryKind::Pinned)
              : nullptr;
  if (!allocation)
    return refuse(bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE,
                  "%s: cannot give %zu bytes", name, bytes);
  *pointer = reinterpret_cast<void *>(allocation->base);
  return CUDA_SUCCESS;
}

MTP_API cuMemAllocHost(void **pointer, size_t bytes) {
  return allocateHost("cuMemAllocHost", pointer, bytes);
}

MTP_API cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  if (flags & ~known)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuMemHostAlloc: flags %#x are not simulated", flags);
  return allocateHost("cuMemHostAlloc", pointer, bytes);
}

MTP_API cuMemFreeHost(void *pointer) {
  Entry entry("cuMemFreeHost");
  if (entry.refused())
    return entry.result();
  return freeMemory("cuMemFreeHost", reinterpret_cast<uintptr_t>(pointer),
                    MemoryKind::Pinned);
}

MTP_API cuMemHostRegister(void *pointer, size_t bytes, unsigned flags) {
  Entry entry("cuMemHostRegister");
  if (entry.refused())
    return entry.result();
  unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                   CU_MEMHOSTREGISTER_READ_ONLY;
  if (flags & ~known)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuMemHostRegister: flags %#x are not simulated", flags);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  Memory &memory = simulator().memory;
  if (!bytes || memory.overlaps(address, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuMemHostRegister: expected bytes that are not pinned yet, "
                  "got %zu %s",
                  bytes, memory.describe(address).c_str());
  // A write to read-only memory is an error, as for constant memory.
  memory.add(address, bytes,
             flags & CU_MEMHOSTREGISTER_READ_ONLY ? MemoryKind::Constant
                                                  : MemoryKind::Pinned);
  return CUDA_SUCCESS;
}

MTP_API cuMemHostUnregister(void *pointer) {
  Entry entry("cuMemHostUnregister");
  if (entry.refused())
    return entry.result();
  if (CUresult failed = drainAll())
    return failed;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  Allocation *allocation = simulator().memory.find(address, 1);
  bool isRegistered = allocation && allocation->base == address &&
                      !allocation->mappedBytes &&
                      allocation->kind != MemoryKind::Global;
  if (!isRegistered)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuMemHostUnregister: expected memory that was registered, "
                  "got an address %s",
                  simulator().memory.describe(address).c_str());
  simulator().memory.remove(address);
  return CUDA_SUCCESS;
}

MTP_API cuMemHostGetDevicePointer(CUdeviceptr *device, void *host,
                                  unsigned flags) {
  Entry entry("cuMemHostGetDevicePointer");
  if (entry.refused())
    return entry.result();
  auto address = reinterpret_cast<uintptr_t>(host);
  Allocation *allocation = simulator().memory.find(address, 1);
  if (!allocation || allocation->kind != MemoryKind::Pinned || flags)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuMemHostGetDevicePointer: expected pinned memory and "
                  "flags 0, got an address %s",
                  simulator().memory.describe(address).c_str());
  *device = address;
  return CUDA_SUCCESS;
}

/// Makes a copy or fill at once, after the default stream and blocking streams.
/// It does not wait for non-blocking streams, as on the device.
template <typename Work>
static CUresult now(const char *name, const Work &work) {
  Entry entry(name);
  if (entry.refusedOrFull())
    return entry.result();
  ++simulator().waits;
  if (CUresult failed = drainDefault())
    return failed;
  return work.run(nullptr);
}

template <typename Work>
static CUresult later(const char *name, CUstream handle, const Work &work) {
  Entry entry(name);
  if (entry.refusedOrFull())
    return entry.result();
  Stream *stream = findStream(handle);
  if (!stream)
    return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live stream",
                  name);
  return enqueue(*stream, {[work] { return work.run(nullptr); }});
}

MTP_API cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  return now("cuMemcpyHtoD", Copy::fromHost(to, from, bytes));
}

MTP_API cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  return now("cuMemcpyDtoH", Copy::toHost(to, from, bytes));
}

MTP_API cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return now("cuMemcpyDtoD", Copy::onDevice(to, from, bytes));
}

MTP_API cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return now("cuMemsetD8", Fill{to, value, 1, count});
}

MTP_API cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return now("cuMemsetD32", Fill{to, value, 4, count});
}

MTP_API cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                          CUstream stream) {
  Entry entry("cuMemcpyHtoDAsync");
  if (entry.refused())
    return entry.result();
  Copy copy = Copy::fromHost(to, from, bytes);
  // Memory that is not pinned is read before the call returns.
  auto address = reinterpret_cast<uintptr_t>(from);
  if (!simulator().memory.find(address, bytes))
    copy.keepSource();
  return later("cuMemcpyHtoDAsync", stream, copy);
}

MTP_API cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                          CUstream stream) {
  Entry entry("cuMemcpyDtoHAsync");
  if (entry.refused())
    return entry.result();
  // A device's driver waits for a copy to memory that is not pinned. Callers
  // must not rely on that here, but the wait is counted.
  auto address = reinterpret_cast<uintptr_t>(to);
  if (!simulator().memory.find(address, bytes))
    ++simulator().waits;
  return later("cuMemcpyDtoHAsync", stream, Copy::toHost(to, from, bytes));
}

MTP_API cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                          CUstream stream) {
  return later("cuMemcpyDtoDAsync", stream, Copy::onDevice(to, from, bytes));
}

MTP_API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                        CUstream stream) {
  return later("cuMemsetD8Async", stream, Fill{to, value, 1, count});
}

MTP_API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                         CUstream stream) {
  return later("cuMemsetD32Async", stream, Fill{to, value, 4, count});
}
