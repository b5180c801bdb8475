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

/// The three flags.
enum class QuantizeFlag { All, Head, Embedding };

/// Returns the values of a flag, for --help.
std::string_view quantizeUsage(QuantizeFlag flag);

/// Parses the values of the flags that were given into `formats`.
///
///   --quantize=int8[,group=N] or int4[,bits=N] or int4[,group=N],symmetric,
///              each followed by [,keep=PATTERN]...
///   --quantize-head=int8|int4|none[,group=N] or int6, whose group is fixed
///   --quantize-embedding=int8|int4|none[,group=N]
///
/// The flag --quantize=int4 chooses formats of 4 to 6 bits for each weight,
/// with a budget of mean bits, unless it is symmetric. The other flags have
/// symmetric int4 only. Projections and heads in int8 without a group have the
/// target's form (WeightFormats). With a group their scales are f32. The head
/// follows
/// --quantize unless --quantize-head is given; the embedding never follows it.
Status parseQuantizeFlags(const QuantizeFlags &flags, WeightFormats &formats);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_QUANTIZEFLAGS_H
