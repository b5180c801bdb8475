//===- Tuning.cpp - Values of tunables for a compilation ------------------===//

#include "compiler/Target/Tuning.h"
#include "llvm/ADT/STLExtras.h"

using namespace mtp;
using namespace mtp::compiler;

/// Returns the names of all tunables that are not fixed.
static std::string tunedNames() {
  std::string names;
  for (const Tunable &tunable : kTunables)
    if (tunable.isTuned())
      names += (names.empty() ? "" : ", ") + std::string(tunable.name);
  return names;
}

Status Tuning::set(llvm::StringRef name, int64_t value) {
  const auto *tunable = llvm::find_if(kTunables, [&](const Tunable &known) {
    return known.name == std::string_view(name) && known.isTuned();
  });
  if (tunable == kTunables.end())
    return invalidArgument("expected a tunable among " + tunedNames() +
                           ", got '" + name.str() + "'");
  if (value < tunable->least || value > tunable->most)
    return invalidArgument("expected " + std::to_string(tunable->least) +
                           " to " + std::to_string(tunable->most) + " for " +
                           name.str() + ", got " + std::to_string(value));
  if (value == tunable->value)
    values.erase(tunable->name);
  else
    values[tunable->name] = value;
  return okStatus();
}

Tuning Tuning::of(TunedFor machine) const {
  Tuning own;
  for (const Tunable &tunable : kTunables)
    if (auto found = values.find(tunable.name);
        found != values.end() && tunable.machine == machine)
      own.values.insert(*found);
  return own;
}
