//===- HostMemory.h - Large zeroed memory -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_HOSTMEMORY_H
#define MTP_RUNTIME_DEVICE_CPU_HOSTMEMORY_H

#include "runtime/core/Result.h"

#include <cstdint>

namespace mtp {

/// Page-aligned memory from the operating system, zero until written. Untouched
/// pages cost nothing.
class HostMemory {
public:
  HostMemory() = default;
  HostMemory(HostMemory &&other) noexcept;
  HostMemory &operator=(HostMemory &&other) noexcept;
  ~HostMemory();

  /// Allocates memory; for zero bytes the pointer is null. `what` names the
  /// memory in the error.
  static Result<HostMemory> allocate(uint64_t bytes, const char *what);

  /// Takes all pages from the system, so that no thread waits for one later. If
  /// the system has no pages now, they still come when they are touched.
  void populate();

  uint8_t *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  uint8_t *bytes = nullptr;
  uint64_t length = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_HOSTMEMORY_H
