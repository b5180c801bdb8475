//===- SourceCheck.h - Checks before MLIR parses ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_SOURCECHECK_H
#define MTP_COMPILER_DRIVER_SOURCECHECK_H

#include "runtime/core/Status.h"
#include <string_view>

namespace mtp::compiler {

/// Reports an error if text nests deeper than any model does: MLIR's parser
/// recurses once per level and would end the process with a stack overflow.
/// Also rejects bytecode, whose nesting is unknown until it is read.
Status checkSource(std::string_view source);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_SOURCECHECK_H
