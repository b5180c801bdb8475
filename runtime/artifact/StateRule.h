//===- StateRule.h - What the host does to a state --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_STATERULE_H
#define MTP_RUNTIME_ARTIFACT_STATERULE_H

#include "runtime/core/Status.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <optional>
#include <string_view>

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

StateRule ruleOf(const schema::State &state);

/// Checks a state's upkeep, if it has one. Type and shape must have passed.
Status verifyUpkeep(const schema::Artifact &artifact,
                    const schema::State &state);

/// The index of the state of that name, if there is one.
std::optional<uint32_t> findState(const schema::Artifact &artifact,
                                  std::string_view name);

/// How many places ahead of its rows a prefill reads tokens when it fills what
/// drafts need: the shape of `prompt_tokens` says so, in files that have none
/// the number of modules.
uint32_t placesAhead(const schema::Artifact &artifact);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_STATERULE_H
