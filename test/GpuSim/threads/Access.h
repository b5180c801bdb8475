//===- Access.h - Check before each access of a kernel ----------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_ACCESS_H
#define MTP_TEST_GPUSIM_THREADS_ACCESS_H

#include <cstdint>

namespace mtp::gpusim {

/// Checks bounds, alignment, initialised reads, and races. If a thread breaks a
/// rule, the thread faults and this function does not return. `flags` are
/// AccessFlags with the address space above them.
void checkAccess(const void *pointer, uint64_t bytes, uint32_t flags,
                 uint32_t align);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_ACCESS_H
