//===- Wiring.h - Parts of mtp-verify-wiring --------------------*- C++ -*-===//
//
// The pass is split by scope: one function of the drafter, or the whole module
// with its caches. Labels are defined in the pass's description.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_MODEL_WIRING_H
#define MTP_PASSES_MODEL_WIRING_H

#include "passes/support/Calls.h"

namespace mlir::mtp {

/// Checks a function that claims a wiring (W3 to W6).
LogicalResult verifyDrafter(func::FuncOp func, WiringAttr claim);

/// Checks every use of every cache that the round reaches (W7, W8), and counts
/// the uses.
LogicalResult verifyCacheUses(ModuleOp module, const SymbolTable &symbols,
                              RoundOp round, int64_t &uses);

} // namespace mlir::mtp

#endif // MTP_PASSES_MODEL_WIRING_H
