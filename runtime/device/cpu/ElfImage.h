//===- ElfImage.h - What a kernel image may ask of the linker ---*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
#define MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>

namespace mtp {

/// Checks an ELF shared object before the dynamic linker sees it: the object
/// has code, data and functions, and nothing else. It needs no other library,
/// has no code that runs when it is loaded or unloaded and no functions that
/// are chosen at load time (IFUNC), imports memcpy, memmove and memset at most,
/// has no memory that is both writable and executable, and no relocation
/// outside its data. No offset or size in it leads out of `elf`.
Status verifyElf(std::span<const uint8_t> elf);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
