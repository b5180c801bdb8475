//===- OutputCheck.h - Checks of the output path ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_OUTPUTCHECK_H
#define MTP_COMPILER_DRIVER_OUTPUTCHECK_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace mtp::compiler {

/// Reports an error if `output` cannot be created, or if it is one of its
/// `inputs`. Called before the work is done. Leaves no file.
Status checkOutput(const std::string &output,
                   std::span<const std::string> inputs);

/// Reports an error if an output of at least `bytes` bytes exceeds the limit of
/// file sizes or the space of its file system. Called before code is generated.
Status checkSpace(const std::string &output, uint64_t bytes);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_OUTPUTCHECK_H
