//===- Builtins.h - The host code of builtin kernels ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_BUILTINS_H
#define MTP_RUNTIME_DEVICE_CPU_BUILTINS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/cpu/KernelImage.h"

#include <string_view>

namespace mtp {

/// Returns the code of a builtin that artifact/Builtins.h lists. Its params are
/// the command's params followed by the number of slots.
Result<KernelFunction> findBuiltinCode(std::string_view name);

/// Returns the scratch per worker that is enough for any builtin of this
/// artifact.
uint64_t builtinScratchBytes(const Artifact &artifact);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_BUILTINS_H
