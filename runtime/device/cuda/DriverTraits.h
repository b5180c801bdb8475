//===- DriverTraits.h - What a driver says beyond CUDA ----------*- C++ -*-===//
//
// A library that stands in for NVIDIA's driver may export a function that says
// in what it differs. This header is for both sides.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H
#define MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H

#include <cstdint>
#include <cuda.h>

namespace mtp {

/// The values are NVIDIA's.
struct DriverTraits {
  /// The name by which plans call the driver whose hosted images it loads;
  /// null: it loads cubins and PTX.
  const char *images = nullptr;
  /// Whether its events tell what is fast.
  bool hasTime = true;
  /// A copy of more bytes says no more of its speed.
  uint64_t longestCopy = UINT64_MAX;
  /// Where the driver watches what kernels read: makes an allocation scratch
  /// memory, of which a graph may read only what it wrote, and bytes unwritten.
  CUresult (*setScratch)(CUdeviceptr memory) = nullptr;
  CUresult (*forget)(CUdeviceptr memory, size_t bytes) = nullptr;
  /// Lets the next graph read of scratch memory what the last one wrote.
  CUresult (*keepScratch)(CUdeviceptr memory) = nullptr;
};

/// The function's name and type.
inline constexpr const char *kDriverTraits = "mtp_driver_traits";
using GetDriverTraits = const DriverTraits *();

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DRIVERTRAITS_H
