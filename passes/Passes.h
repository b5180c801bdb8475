//===- Passes.h - All passes ------------------------------------*- C++ -*-===//
//
// Passes.td describes each pass. A pass Name is implemented in Name.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_PASSES_H
#define MTP_PASSES_PASSES_H

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/WeightLayout.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mtp {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mlir::mtp

#endif // MTP_PASSES_PASSES_H
