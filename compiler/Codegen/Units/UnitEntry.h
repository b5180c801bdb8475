//===- UnitEntry.h - A kernel's object as bytes -----------------*- C++ -*-===//
//
// The form in which the kernel cache keeps objects: the number of parts as 64
// bits, the length of each, then the parts.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_UNITS_UNITENTRY_H
#define COMPILER_CODEGEN_UNITS_UNITENTRY_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include <optional>
#include <span>

namespace mtp::codegen {

std::vector<char> writeUnitEntry(const KernelObject &object);

/// Returns the object, or nothing if `entry` is not what writeUnitEntry makes.
std::optional<KernelObject> readUnitEntry(std::span<const char> entry);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_UNITS_UNITENTRY_H
