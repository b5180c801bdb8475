//===- QuantizeFlags.h - What --quantize asks for ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H
#define MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H

#include "compiler/Pipeline/Phases.h"
#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace mtp::compiler {

/// The values of the flags that were given.
struct QuantizeFlags {
  std::optional<std::string_view> quantize, head, embedding;
};

/// What may follow the "=" of such a flag: "int8|int4|none[,group=N]".
std::string quantizeUsage(bool takesNone, bool takesKeep);

/// Reads the values of three flags, as far as they were given, into `formats`.
///
///   --quantize=int8|int4[,group=N][,keep=PATTERN]...
///   --quantize-head=int8|int4|none[,group=N]
///   --quantize-embedding=int8|int4|none[,group=N]
///
/// The head follows --quantize unless it has a flag of its own; the embedding
/// never does.
Status parseQuantizeFlags(const QuantizeFlags &flags, WeightFormats &formats);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H
