//===- PlanReport.h - What a compiled model will take -----------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_PLANREPORT_H
#define MTP_COMPILER_DRIVER_PLANREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mtp::compiler {

/// Prints programs, kernels and bytes of a module that went through the exec
/// phase, for people or as one JSON object.
mlir::LogicalResult printPlanReport(mlir::ModuleOp module, bool json,
                                    llvm::raw_ostream &os);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_PLANREPORT_H
