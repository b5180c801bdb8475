//===- StateRule.h - What the host does to a state --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_STATERULE_H
#define MTP_RUNTIME_ARTIFACT_STATERULE_H

#include "runtime/schema/mtp_artifact_generated.h"

#include <optional>

namespace mtp {

/// The upkeep of a state, which files before 1.3 leave to its name.
struct StateRule {
  /// One for all slots; else the first dimension is the slots.
  bool shared = false;
  /// The value of every element when a sequence gets the slot (shared: when the
  /// session begins). None: the state is left as it is.
  std::optional<double> init;
  schema::Rebuild rebuild = schema::Rebuild::Rows;
  /// With Rebuild::Rows: the last tokens whose prefill writes all of it.
  uint32_t rows = 1;
};

/// What a file says of a state, or its name where the file does not.
StateRule ruleOf(const schema::State &state);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_STATERULE_H
