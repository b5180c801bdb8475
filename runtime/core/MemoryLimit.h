//===- MemoryLimit.h - The memory limit of a process ------------*- C++ -*-===//
//
// Linux grants more memory than the machine has, and kills the process that
// then uses it. A size from a caller or a file is therefore compared with all
// the memory of the machine before it is allocated.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_MEMORYLIMIT_H
#define MTP_RUNTIME_CORE_MEMORYLIMIT_H

#include "runtime/core/Cgroup.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <string_view>

namespace mtp {

/// The maximum memory of a process if it were alone on the machine.
struct MemoryLimit {
  uint64_t bytes = UINT64_MAX;
  /// Name of the limit: "physical memory", "the cgroup's memory limit", ...
  const char *source = "physical memory";
};

/// Returns the smallest of physical memory, the memory limits of the process's
/// cgroups and RLIMIT_AS. Reads a few small files.
MemoryLimit memoryLimit(const SystemFiles &files = {});

/// Fails with ResourceExhausted if `bytes` are more than the limit: "`what`
/// need 10 bytes, more than the 5 bytes of physical memory".
Status checkMemory(uint64_t bytes, std::string_view what,
                   const MemoryLimit &limit = memoryLimit());

/// Returns the memory that could be taken now, in addition to all memory in use
/// by any process: the smallest of the machine's available memory and the rest
/// of each cgroup of the process. Reads a few small files.
uint64_t availableMemory(const SystemFiles &files = {});

/// Saturating sums and products.
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
