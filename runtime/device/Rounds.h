//===- Rounds.h - Repeated and stopped rounds -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_ROUNDS_H
#define MTP_RUNTIME_DEVICE_ROUNDS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/Device.h"
#include "runtime/schema/LoopLayout.h"

#include <optional>

namespace mtp {

/// Returns the place of `again` for n slots, a number per slot that decides
/// whether another round follows. InvalidArgument if a program has no such
/// output.
inline Result<Binding> againOf(const Program &program, uint32_t n) {
  const Port *port = program.output(kAgain);
  if (port && program.kind == schema::ProgramKind::Decode)
    return port->place.at(n);
  return invalidArgument(strCat("expected a round with the output '", kAgain,
                                "', which program ", program.name,
                                " does not have"));
}

/// Consecutive commands of a program.
struct CommandRange {
  size_t begin, end;
};

/// Returns the commands of a part, or all commands that always run.
/// InvalidArgument for a part that the program does not have.
inline Result<CommandRange> rangeOf(const Program &program,
                                    std::optional<Part> part) {
  size_t count = program.commands.size();
  size_t end = program.ownCommands().size();
  if (!part)
    return CommandRange{0, end};
  if (*part == Part::OnRequest) {
    if (end < count)
      return CommandRange{end, count};
    return invalidArgument(strCat("expected a program with commands for "
                                  "requests alone, which ",
                                  program.name, " does not have"));
  }
  if (program.cut == 0)
    return invalidArgument(strCat("expected a program that may stop, which ",
                                  program.name, " may not"));
  return *part == Part::FirstHalf ? CommandRange{0, program.cut}
                                  : CommandRange{program.cut, end};
}

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_ROUNDS_H
