//===- PlanReport.h - What a compiled model will take -----------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_PLANREPORT_H
#define MTP_COMPILER_DRIVER_PLANREPORT_H

#include "compiler/Target/Target.h"
#include "compiler/Weights/WeightQuantizer.h"
#include "compiler/Weights/WeightRecipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mtp::compiler {

/// What became of a quantised weight, known once it is packed.
struct QuantizedWeight {
  std::string name;
  WeightFormat format;
  QuantizationError error;
};

/// What is known once code was made and weights packed; empty where they were
/// not.
struct CompiledParts {
  std::vector<QuantizedWeight> quantized;
  /// Of a GPU's kernels, where they were assembled.
  std::vector<KernelResources> resources;
  /// Whether the runtime makes graphs of the plan's programs.
  bool hasGraphs = false;
};

/// Prints programs, kernels and bytes of a module that went through the exec
/// phase, for people or as one JSON object.
mlir::LogicalResult printPlanReport(mlir::ModuleOp module,
                                    const CompiledParts &parts, bool json,
                                    llvm::raw_ostream &os);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_PLANREPORT_H
