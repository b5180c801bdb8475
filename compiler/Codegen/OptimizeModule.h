//===- OptimizeModule.h - Optimise kernels in LLVM IR -----------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_OPTIMIZEMODULE_H
#define COMPILER_CODEGEN_OPTIMIZEMODULE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mtp::codegen {

/// Runs LLVM's scalar optimisations for `machine`. The kernels are vector code
/// already and say themselves what they unroll, so the vectorisers and the
/// unroller only cost time and are left out.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_OPTIMIZEMODULE_H
