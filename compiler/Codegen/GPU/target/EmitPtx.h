//===- EmitPtx.h - GPU kernels as PTX and cubin -----------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H
#define COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mtp::gpu {

/// The oldest compute capability, times ten, that has what kernels wait for
/// each other with (griddepcontrol).
inline constexpr unsigned kLeastChip = 90;

/// The chips that PTX can be made for, such as "sm_90a", of kLeastChip and
/// later.
std::vector<std::string> knownChips();

/// The PTX of a module of kernels for `chip`, such as "sm_90". Consumes the
/// module's contents.
llvm::Expected<std::string> emitPtx(llvm::Module &module, llvm::StringRef chip);

struct Cubin {
  /// Empty where there is no ptxas; `absence` says where it was looked for.
  std::vector<char> bytes;
  std::string absence;
  /// What `ptxas -v` said: registers, shared memory and spills of each kernel.
  std::string report;
};

/// Assembles PTX with the toolkit's ptxas, which is looked for under
/// $CUDA_HOME, or /usr/local/cuda. Its absence is no error, PTX it refuses is.
llvm::Expected<Cubin> assemblePtx(llvm::StringRef ptx, llvm::StringRef chip);

} // namespace mtp::gpu

#endif // COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H
