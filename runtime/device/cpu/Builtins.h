//===- Builtins.h - The host code of builtin kernels ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_BUILTINS_H
#define MTP_RUNTIME_DEVICE_CPU_BUILTINS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/cpu/KernelImage.h"

#include <string_view>

namespace mtp {

/// The code of a builtin that artifact/Builtins.h lists. Its params are those
/// of the command and, behind them, the number of slots.
Result<KernelFunction> findBuiltinCode(std::string_view name);

/// Scratch that any builtin of this artifact needs on each worker.
uint64_t builtinScratchBytes(const Artifact &artifact);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_BUILTINS_H
