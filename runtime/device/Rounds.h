//===- Rounds.h - Rounds that repeat, and rounds that stop ------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_ROUNDS_H
#define MTP_RUNTIME_DEVICE_ROUNDS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/Device.h"
#include "runtime/schema/LoopWords.h"

#include <optional>

namespace mtp {

/// Where a round for n slots says whether another one shall follow, a number of
/// each slot. InvalidArgument where a program does not say so.
inline Result<Binding> againOf(const Program &program, uint32_t n) {
  const Port *port = program.output(kAgain);
  if (port && program.kind == schema::ProgramKind::Decode)
    return port->place.at(n);
  return invalidArgument(strCat("expected a round with the output '", kAgain,
                                "', which program ", program.name,
                                " does not have"));
}

/// Commands of a program that follow each other.
struct CommandRange {
  size_t begin, end;
};

/// Those of a half, or all. InvalidArgument for a half of a program that may
/// not stop.
inline Result<CommandRange> rangeOf(const Program &program,
                                    std::optional<Half> half) {
  size_t count = program.commands.size();
  if (!half)
    return CommandRange{0, count};
  if (program.cut == 0)
    return invalidArgument(strCat("expected a program that may stop, which ",
                                  program.name, " may not"));
  return *half == Half::First ? CommandRange{0, program.cut}
                              : CommandRange{program.cut, count};
}

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_ROUNDS_H
