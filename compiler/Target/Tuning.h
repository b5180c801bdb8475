//===- Tuning.h - Values of tunables for a compilation ----------*- C++ -*-===//

#ifndef MTP_COMPILER_TARGET_TUNING_H
#define MTP_COMPILER_TARGET_TUNING_H

#include "runtime/core/Status.h"
#include "runtime/schema/Tunables.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace mtp::compiler {

/// Values of tunables that differ from their defaults. They change the speed of
/// an artifact and no output bit.
class Tuning {
public:
  /// Sets a value. Fails if there is no such tunable, if it is fixed, or if the
  /// value is beyond its limits.
  Status set(llvm::StringRef name, int64_t value);

  /// Returns the value of a tunable.
  int64_t at(const Tunable &tunable) const {
    auto found = values.find(tunable.name);
    return found == values.end() ? tunable.value : found->second;
  }

  /// Returns the values for a machine, by name.
  Tuning of(TunedFor machine) const;

  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }

private:
  std::map<std::string_view, int64_t> values;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_TARGET_TUNING_H
