//===- UnitEntry.h - A kernel's object as bytes -----------------*- C++ -*-===//
//
// Format of an object in the kernel cache: the number of parts as 64 bits, the
// length of each part, then the parts.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_UNITENTRY_H
#define MTP_COMPILER_CODEGEN_UNITS_UNITENTRY_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include <optional>
#include <span>

namespace mtp::codegen {

std::vector<char> writeUnitEntry(const KernelObject &object);

/// Returns the object, or nothing if `entry` is not in the format of
/// writeUnitEntry.
std::optional<KernelObject> readUnitEntry(std::span<const char> entry);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_UNITENTRY_H
