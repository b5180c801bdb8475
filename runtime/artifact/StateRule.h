//===- StateRule.h - Upkeep of a state by the host --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_STATERULE_H
#define MTP_RUNTIME_ARTIFACT_STATERULE_H

#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp {

/// The upkeep of a state.
struct StateRule {
  /// One state for all slots. Otherwise the first dimension is the slots.
  bool shared = false;
  /// Value of every element when a sequence gets the slot (shared: when the
  /// session begins).
  double init = 0;
  schema::Rebuild rebuild = schema::Rebuild::Rows;
  /// With Rebuild::Rows: the number of last tokens whose prefill writes the
  /// whole state.
  uint32_t rows = 1;
  /// Whether a request may set a slot's part; no kernel writes it.
  bool input = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_STATERULE_H
