//===- PlanReport.h - Report on a compiled model ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_PLANREPORT_H
#define MTP_COMPILER_DRIVER_PLANREPORT_H

#include "compiler/Target/Target.h"
#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightQuantizer.h"
#include "compiler/Weights/pack/WeightRecipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace mtp::compiler {

/// A quantised weight and its error, known after packing.
struct QuantizedWeight {
  std::string name;
  WeightFormat format;
  QuantizationError error;
};

/// A packed weight, with its types in the checkpoint.
struct PackedWeight {
  WeightRecipe recipe;
  StoredTypes stored;

  /// Returns the bits of an element in the artifact, with scales and padding.
  double bits() const;
};

/// Scores of the begin of a calibration's text, with the model's own weights
/// and with the quantised weights.
struct CalibrationScore {
  int64_t tokens = 0;
  /// Perplexities.
  double before = 0, after = 0;
  /// Mean divergence from the unchanged model, in nats a token.
  double divergence = 0;
};

/// Data that is known after code generation and packing; empty before.
struct CompiledParts {
  std::vector<QuantizedWeight> quantized;
  std::vector<PackedWeight> packed;
  std::optional<CalibrationScore> calibration;
  /// Resources of a GPU's kernels, if they were assembled.
  std::vector<KernelResources> resources;
  /// True if the runtime makes graphs of the plan's programs.
  bool hasGraphs = false;
};

/// Prints programs, kernels and bytes of a module after the exec phase, as text
/// or as one JSON object.
mlir::LogicalResult printPlanReport(mlir::ModuleOp module,
                                    const CompiledParts &parts, bool json,
                                    llvm::raw_ostream &os);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_PLANREPORT_H
