//===- ProfileKeys.h - What a profile's numbers belong to -------*- C++ -*-===//

#ifndef MTP_RUNTIME_PROFILE_PROFILEKEYS_H
#define MTP_RUNTIME_PROFILE_PROFILEKEYS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Status.h"
#include "runtime/profile/Profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp::profile {

/// Returns the key of an artifact's model, as a plan has it.
ModelKey modelKeyOf(const Artifact &artifact, const Plan &plan);

/// Fails if a profile is of another model, and names both.
Status checkModel(const ModelKey &expected, const ModelKey &given);

/// The hash of each program of a plan: of its commands, their counts, and the
/// names and configurations of their kernels. A program that was compiled again
/// from the same kernels has the same hash.
class ProgramKeys {
public:
  explicit ProgramKeys(const Plan &plan);

  /// Returns all keys, in the order of the plan's programs.
  const std::vector<uint64_t> &all() const { return keys; }
  /// Returns whether a program of the plan has the key.
  bool contains(uint64_t key) const;

private:
  std::vector<uint64_t> keys, sorted;
};

/// Returns the name of this machine's processor, "unknown processor" if the
/// system does not tell it.
std::string processorName();

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_PROFILEKEYS_H
