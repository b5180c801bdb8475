//===- HostMemory.cpp - Large zeroed memory -------------------------------===//

#include "runtime/device/cpu/HostMemory.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace mtp;

HostMemory::HostMemory(HostMemory &&other) noexcept {
  *this = std::move(other);
}

HostMemory &HostMemory::operator=(HostMemory &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

HostMemory::~HostMemory() {
  if (bytes)
    ::munmap(bytes, length);
}

Result<HostMemory> HostMemory::allocate(uint64_t bytes, const char *what) {
  HostMemory memory;
  if (bytes == 0)
    return memory;
  void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return resourceExhausted(strCat("cannot allocate ", bytes, " bytes for ",
                                    what, ": ", std::strerror(errno)));
  // Large pages save address translation; a kernel without them is no failure.
  if (bytes >= (2 << 20))
    ::madvise(data, bytes, MADV_HUGEPAGE);
  memory.bytes = static_cast<uint8_t *>(data);
  memory.length = bytes;
  return memory;
}

// Linux 5.14; the C library's headers may be older.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void HostMemory::populate() {
  if (!bytes || ::madvise(bytes, length, MADV_POPULATE_WRITE) == 0 ||
      errno != EINVAL)
    return;
  // An older kernel needs writes to provide pages.
  for (uint64_t at = 0; at < length; at += 4096) {
    volatile uint8_t *page = bytes + at;
    *page = *page;
  }
}
