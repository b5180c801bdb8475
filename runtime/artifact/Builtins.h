//===- Builtins.h - Kernels that the runtime provides -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_BUILTINS_H
#define MTP_RUNTIME_ARTIFACT_BUILTINS_H

#include <cstdint>
#include <span>
#include <string_view>

namespace mtp {

/// The verifier's description of a kernel named "mtp.<name>".
struct Builtin {
  std::string_view name;
  uint32_t buffers;
  uint32_t params;
  /// Whether a row is divided into stretches of its vocabulary, one task each.
  bool isScan;
};

/// Returns the builtin of that name, or null.
const Builtin *findBuiltin(std::string_view name);

/// Returns the number of tasks of a builtin's command. The first two params are
/// rows and vocabulary.
int64_t builtinTasks(const Builtin &builtin, std::span<const int64_t> params);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_BUILTINS_H
