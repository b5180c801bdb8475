//===- OptimizeModule.h - Optimise kernels in LLVM IR -----------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_OPTIMIZEMODULE_H
#define MTP_COMPILER_CODEGEN_OPTIMIZEMODULE_H

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mtp::codegen {

/// Runs LLVM's scalar optimisations of -O2 for `machine`. Kernels are vector
/// code already and say themselves what they unroll, so the vectorisers, apart
/// from loops that ask for one, and the unroller are left out.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

/// An LLVM context for one kernel of an x86-64 processor. Kernels need fewer
/// passes than -O2 runs, and code generation without loop strength reduction:
/// it takes half of the back end's time and does not make kernels faster
/// (tools/mtp-bench/MEASURED.md).
class HostContext {
public:
  HostContext() { context.setOptPassGate(gate); }
  HostContext(const HostContext &) = delete;
  HostContext &operator=(const HostContext &) = delete;

  llvm::LLVMContext &get() { return context; }

  /// Optimises the module of this context in less time than -O2. Only a module
  /// with a loop that asks for LLVM's vectoriser runs the vectoriser.
  void optimize(llvm::Module &module, llvm::TargetMachine &machine);

private:
  class Gate : public llvm::OptPassGate {
  public:
    bool shouldRunPass(llvm::StringRef pass,
                       llvm::StringRef description) const override {
      return pass != "Loop Strength Reduction";
    }
    bool isEnabled() const override { return true; }
  };

  // The context refers to the gate.
  Gate gate;
  llvm::LLVMContext context;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_OPTIMIZEMODULE_H
