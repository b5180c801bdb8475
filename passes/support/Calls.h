//===- Calls.h - Calls between a model's functions --------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_CALLS_H
#define MTP_PASSES_SUPPORT_CALLS_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mtp {

/// Limits on a module after all calls are inlined. No model nests or applies
/// more. A larger module would exhaust the machine's memory.
inline constexpr size_t kMaxNesting = 64;
inline constexpr size_t kMaxApplications = size_t(1) << 16;
inline constexpr size_t kMaxInlinedOps = size_t(1) << 22;

/// Returns the function that `op` calls; null if `op` is neither mtp.apply nor
/// func.call.
inline FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto apply = dyn_cast<ApplyOp>(op))
    return apply.getCalleeAttr();
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  return {};
}

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_CALLS_H
