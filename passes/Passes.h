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
#include "runtime/schema/Tunables.h"
#include <functional>
#include <optional>

namespace mlir::exec {
class WeightOp;
} // namespace mlir::exec

namespace mlir::mtp {

class WeightOp;

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// Returns the format that keeps a weight as its tensors store it, if there is
/// one.
using KeptFormatFn =
    std::function<std::optional<::mtp::WeightFormat>(exec::WeightOp)>;

/// Returns the format that keeps a tensor as it is stored, if there is one.
using StoredFormatFn =
    std::function<std::optional<::mtp::WeightFormat>(WeightOp)>;

/// Creates mtp-fuse-projections, which merges only projections whose weights
/// have equal formats. If `storedFormat` is null, all formats are equal.
std::unique_ptr<Pass> createFuseProjectionsPass(StoredFormatFn storedFormat);

} // namespace mlir::mtp

#endif // MTP_PASSES_PASSES_H
