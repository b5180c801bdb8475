//===- Rounds.h - Which programs can follow themselves ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_ROUNDS_H
#define MTP_RUNTIME_DEVICE_ROUNDS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/LoopWords.h"

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

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_ROUNDS_H
