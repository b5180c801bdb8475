//===- ElfImage.h - Checks of kernel images ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
#define MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>

namespace mtp {

/// Checks an ELF shared object before the dynamic linker sees it. The object
/// may have only code, data and functions:
/// - It needs no other library and imports only memcpy, memmove and memset.
/// - No code runs when it is loaded or unloaded, and no function is chosen at
///   load time (IFUNC).
/// - No memory is both writable and executable, and relocations are in its data
///   only.
/// - No offset or size in it leads out of `elf`.
Status verifyElf(std::span<const uint8_t> elf);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
