//===- OptimizeModule.cpp - Optimise kernels in LLVM IR -------------------===//

#include "compiler/Codegen/OptimizeModule.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {
/// A pass builder with its analyses.
class Passes {
public:
  explicit Passes(TargetMachine &machine) : builder(&machine, tuning()) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  static PipelineTuningOptions tuning() {
    PipelineTuningOptions options;
    options.LoopVectorization = false;
    options.SLPVectorization = false;
    options.LoopInterleaving = false;
    options.LoopUnrolling = false;
    return options;
  }

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder;
};
} // namespace

void mtp::codegen::optimizeModule(Module &module, TargetMachine &machine) {
  Passes passes(machine);
  passes.builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, passes.modules);
}

/// Whether some loop carries hints.
static bool hasLoopHints(const Module &module) {
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      if (block.getTerminator()->hasMetadata(LLVMContext::MD_loop))
        return true;
  return false;
}

/// Passes for kernels whose loops are vector code already.
static constexpr StringRef kScalarPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(licm),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "separate-const-offset-from-gep,early-cse,loop-mssa(licm))";

/// Passes for kernels with loops that ask for LLVM's vectoriser.
static constexpr StringRef kLoopPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(loop-rotate,licm),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-vectorize<interleave-forced-only;vectorize-forced-only>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "separate-const-offset-from-gep,early-cse<memssa>,loop-mssa(licm))";

void mtp::codegen::HostContext::optimize(Module &module,
                                         TargetMachine &machine) {
  Passes passes(machine);
  ModulePassManager manager;
  cantFail(passes.builder.parsePassPipeline(
      manager, hasLoopHints(module) ? kLoopPasses : kScalarPasses));
  manager.run(module, passes.modules);
}
