//===- PlanReport.h - What a compiled model will take -----------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_PLANREPORT_H
#define MTP_COMPILER_DRIVER_PLANREPORT_H

#include "compiler/Weights/WeightQuantizer.h"
#include "compiler/Weights/WeightRecipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mtp::compiler {

/// What became of a quantised weight, known once it is packed.
struct QuantizedWeight {
  std::string name;
  int64_t bits;
  int64_t group;
  QuantizationError error;
};

/// Prints programs, kernels and bytes of a module that went through the exec
/// phase, for people or as one JSON object. `quantized` is empty where nothing
/// was packed.
mlir::LogicalResult printPlanReport(mlir::ModuleOp module,
                                    llvm::ArrayRef<QuantizedWeight> quantized,
                                    bool json, llvm::raw_ostream &os);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_PLANREPORT_H
