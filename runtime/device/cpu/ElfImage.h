//===- ElfImage.h - What a kernel image may ask of the linker ---*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
#define MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>

namespace mtp {

/// Checks an ELF shared object before the dynamic linker sees it: that it has
/// code, data and functions, and asks for nothing else. No other library, no
/// code that runs when it is loaded or unloaded, no functions that choose
/// themselves (IFUNC), no imports but memcpy, memmove and memset, no memory
/// that can be written and run, no addresses that are patched outside its data.
/// Nothing that the file says leads out of the bytes.
Status verifyElf(std::span<const uint8_t> elf);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_ELFIMAGE_H
