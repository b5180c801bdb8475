//===- OutputCheck.h - May the artifact be written there? -------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_OUTPUTCHECK_H
#define MTP_COMPILER_DRIVER_OUTPUTCHECK_H

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace mtp::compiler {

/// Refuses an `output` that cannot be created, or that is one of the files that
/// it is made from. Asked before the work is done, not after; leaves no file.
Status checkOutput(const std::string &output,
                   std::span<const std::string> inputs);

/// Refuses an output of at least so many bytes where the limit of file sizes or
/// the space of its file system is less. Asked before code is generated.
Status checkSpace(const std::string &output, uint64_t bytes);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_OUTPUTCHECK_H
