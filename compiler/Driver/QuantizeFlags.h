//===- QuantizeFlags.h - Values of --quantize flags -------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H
#define MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H

#include "compiler/Pipeline/Phases.h"
#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace mtp::compiler {

/// Values of the flags; empty for a flag that was not given.
struct QuantizeFlags {
  std::optional<std::string_view> quantize, head, embedding;
};

/// Returns the values of such a flag, for --help: "int8|int4|none[,group=N]".
std::string quantizeUsage(bool takesNone, bool takesKeep);

/// Parses the values of the three flags that were given into `formats`.
///
///   --quantize=int8|int4[,group=N][,keep=PATTERN]...
///   --quantize-head=int8|int4|none[,group=N]
///   --quantize-embedding=int8|int4|none[,group=N]
///
/// The head follows --quantize unless --quantize-head is given; the embedding
/// never follows it.
Status parseQuantizeFlags(const QuantizeFlags &flags, WeightFormats &formats);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H
