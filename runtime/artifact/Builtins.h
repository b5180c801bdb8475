//===- Builtins.h - Kernels that the runtime brings -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_BUILTINS_H
#define MTP_RUNTIME_ARTIFACT_BUILTINS_H

#include "runtime/core/Status.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <string_view>

namespace mtp {

/// A kernel named "mtp.<name>", as far as the verifier needs to know it.
struct Builtin {
  std::string_view name;
  uint32_t buffers;
  uint32_t params;
  /// Checks params and byte counts of a command whose counts are right.
  Status (*check)(const schema::Artifact &artifact,
                  const schema::Command &command);
};

/// The builtin of that name, or null.
const Builtin *findBuiltin(std::string_view name);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_BUILTINS_H
