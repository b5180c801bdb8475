//===- MemoryLimit.h - How much memory there can be -------------*- C++ -*-===//
//
// Linux grants more memory than there is and kills the process that then uses
// it. So a size from a caller or a file is compared with all the memory there
// is before that much is allocated.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_MEMORYLIMIT_H
#define MTP_RUNTIME_CORE_MEMORYLIMIT_H

#include "runtime/core/Cgroup.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <string_view>

namespace mtp {

/// The most memory that a process may use, were it alone.
struct MemoryLimit {
  uint64_t bytes = UINT64_MAX;
  /// What sets it: "physical memory", "the cgroup's memory limit", ...
  const char *source = "physical memory";
};

/// The least of physical memory, the memory limits of the process's cgroups and
/// RLIMIT_AS. Reads a few small files.
MemoryLimit memoryLimit(const SystemFiles &files = {});

/// ResourceExhausted when `bytes` are more than the limit: "`what` need 10
/// bytes, more than the 5 bytes of physical memory".
Status checkMemory(uint64_t bytes, std::string_view what,
                   const MemoryLimit &limit = memoryLimit());

/// What could be taken beside all that is used now, by others too: the least of
/// what the machine has available and of what each of the process's cgroups has
/// left. Reads a few small files.
uint64_t availableMemory(const SystemFiles &files = {});

/// Sums and products that stop at the largest value instead of beginning anew.
inline uint64_t addBytes(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
inline uint64_t multiplyBytes(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

} // namespace mtp

#endif // MTP_RUNTIME_CORE_MEMORYLIMIT_H
