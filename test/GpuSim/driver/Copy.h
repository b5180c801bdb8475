//===- Copy.h - Copies and fills by the host --------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_COPY_H
#define MTP_TEST_GPUSIM_DRIVER_COPY_H

#include "test/GpuSim/machine/Touched.h"
#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <vector>

namespace mtp::gpusim {

/// A copy to, from or within the device.
struct Copy {
  static Copy fromHost(CUdeviceptr to, const void *from, size_t bytes) {
    return {to, reinterpret_cast<uintptr_t>(from), bytes, true, false, nullptr};
  }
  static Copy toHost(void *to, CUdeviceptr from, size_t bytes) {
    return {reinterpret_cast<uintptr_t>(to), from, bytes, false, true, nullptr};
  }
  static Copy onDevice(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return {to, uintptr_t(from), bytes, true, true, nullptr};
  }

  /// Reads the bytes of the source now.
  void keepSource();
  /// Makes the copy. Records the touched bytes unless `touched` is null.
  CUresult run(Touched *touched) const;

  uintptr_t to, from;
  size_t bytes;
  bool toDevice, fromDevice;
  std::shared_ptr<std::vector<char>> kept;
};

/// A fill of `count` elements of 1 or 4 bytes.
struct Fill {
  CUresult run(Touched *touched) const;

  uintptr_t to;
  uint32_t value;
  unsigned width;
  size_t count;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_COPY_H
