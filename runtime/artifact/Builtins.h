//===- Builtins.h - Kernels that the runtime provides -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_BUILTINS_H
#define MTP_RUNTIME_ARTIFACT_BUILTINS_H

#include "runtime/core/Status.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <span>
#include <string_view>

namespace mtp {

struct Count;
struct CommandContext;

/// The verifier's description of a kernel named "mtp.<name>".
struct Builtin {
  std::string_view name;
  uint32_t buffers;
  uint32_t params;
  /// Whether a row is divided into stretches of its vocabulary, one task each.
  bool isScan;
  /// Checks the bytes of a command at n. Its counts and params must be right.
  Status (*check)(const CommandContext &context, uint64_t n);
};

/// Returns the builtin of that name, or null.
const Builtin *findBuiltin(std::string_view name);

/// Checks a builtin's command at every n of its program.
Status checkBuiltin(const CommandContext &context);

/// Returns the number of tasks of a builtin's command. The first two params are
/// rows and vocabulary.
int64_t builtinTasks(const Builtin &builtin, std::span<const int64_t> params);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_BUILTINS_H
