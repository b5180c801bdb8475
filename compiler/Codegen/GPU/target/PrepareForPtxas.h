//===- PrepareForPtxas.h - Workarounds for ptxas ----------------*- C++ -*-===//
//
// ptxas does not always make the expected code of correct PTX. These functions
// change a module to prevent that. They run after LLVM's optimisations, right
// before PTX is written. The simulator's images do not need them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H

namespace llvm {
class Module;
} // namespace llvm

namespace mtp::gpu {

void prepareForPtxas(llvm::Module &module);

} // namespace mtp::gpu

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H
