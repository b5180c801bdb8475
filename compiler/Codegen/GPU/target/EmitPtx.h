//===- EmitPtx.h - GPU kernels as PTX and cubin -----------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpu {

/// Oldest compute capability, times ten, with the instruction that lets kernels
/// wait for each other (griddepcontrol).
inline constexpr unsigned kLeastChip = 90;

/// Returns the chips from kLeastChip on that PTX can be made for, such as
/// "sm_90a".
std::vector<std::string> knownChips();

/// Creates the machine that makes PTX for `chip`, such as "sm_90".
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makePtxMachine(llvm::StringRef chip);

/// Optimises a module of kernels and prepares it for `writePtx`.
void optimizeForPtx(llvm::Module &module, llvm::TargetMachine &machine);

/// Writes the PTX of an optimised module, whose contents it consumes.
llvm::Expected<std::string> writePtx(llvm::Module &module,
                                     llvm::TargetMachine &machine);

/// Makes the PTX of a module of kernels for `chip`: creates the machine, then
/// optimises and writes the module. Consumes the module's contents.
llvm::Expected<std::string> emitPtx(llvm::Module &module, llvm::StringRef chip);

struct Cubin {
  /// Empty if there is no ptxas. `absence` then names the places that were
  /// searched.
  std::vector<char> bytes;
  std::string absence;
  /// Report of `ptxas -v`: registers, shared memory and spills of each kernel.
  std::string report;
};

/// Assembles PTX with the toolkit's ptxas, which is looked for under
/// $CUDA_HOME, or /usr/local/cuda. It is no error if ptxas is absent. PTX that
/// ptxas refuses is an error.
llvm::Expected<Cubin> assemblePtx(llvm::StringRef ptx, llvm::StringRef chip);

/// Names the ptxas that `assemblePtx` runs by its content. Computed once.
const std::string &assemblerIdentity();

} // namespace mtp::gpu

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_EMITPTX_H
