//===- DriverTraits.h - Properties of a driver beyond CUDA ------*- C++ -*-===//
//
// A library that replaces NVIDIA's driver may export a function that states its
// differences. Both sides include this header.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H
#define MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H

#include <cstdint>
#include <cuda.h>

namespace mtp {

/// Properties of a driver. The defaults are NVIDIA's.
struct DriverTraits {
  /// Name that plans use for the driver whose hosted images it loads. If null,
  /// the driver loads cubins and PTX.
  const char *images = nullptr;
  /// True if times of its events mean anything.
  bool hasTime = true;
  /// Number of bytes from which a longer copy gives no better measurement.
  uint64_t longestCopy = UINT64_MAX;
  /// For a driver that tracks reads: marks an allocation as scratch memory, of
  /// which a graph may read only what it wrote, or marks bytes as unwritten.
  CUresult (*setScratch)(CUdeviceptr memory) = nullptr;
  CUresult (*forget)(CUdeviceptr memory, size_t bytes) = nullptr;
  /// Lets the next graph read what the last one wrote to scratch memory.
  CUresult (*keepScratch)(CUdeviceptr memory) = nullptr;
};

/// Name and type of the function.
inline constexpr const char *kDriverTraits = "mtp_driver_traits";
using GetDriverTraits = const DriverTraits *();

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H
