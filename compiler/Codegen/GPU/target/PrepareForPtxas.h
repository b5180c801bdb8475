//===- PrepareForPtxas.h - LLVM IR as ptxas takes it well -------*- C++ -*-===//
//
// What ptxas makes of right PTX is not always what was asked for. Here stands
// what a module is told or spared because of that, after LLVM's optimisations
// and right before PTX is written. The simulator's images go without.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H
#define COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H

namespace llvm {
class Module;
} // namespace llvm

namespace mtp::gpu {

void prepareForPtxas(llvm::Module &module);

} // namespace mtp::gpu

#endif // COMPILER_CODEGEN_GPU_TARGET_PREPAREFORPTXAS_H
