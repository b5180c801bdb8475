//===- StateRule.h - What the host does to a state --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_STATERULE_H
#define MTP_RUNTIME_ARTIFACT_STATERULE_H

#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp {

/// The upkeep of a state.
struct StateRule {
  /// One for all slots; else the first dimension is the slots.
  bool shared = false;
  /// The value of every element when a sequence gets the slot (shared: when the
  /// session begins).
  double init = 0;
  schema::Rebuild rebuild = schema::Rebuild::Rows;
  /// With Rebuild::Rows: the last tokens whose prefill writes all of it.
  uint32_t rows = 1;
  /// A request may bring a slot's part; no kernel writes it.
  bool input = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_STATERULE_H
