//===- ControlPasses.td - What slots decide ----------------*- tablegen -*-===//
//
// Bodies of mtp.per_slot, joined and made kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CONTROL_PASSES
#define MTP_CONTROL_PASSES

include "mlir/Pass/PassBase.td"

def FusePerSlotPass : Pass<"mtp-fuse-per-slot", "mlir::ModuleOp"> {
  let summary = "Join the bodies of neighbouring mtp.per_slot ops";
  let description = [{
    What the expansions write side by side becomes one body, and so one kernel.
    Bodies are tidied up by the canonicalisations of their dialects.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [Statistic<"numFused", "fused", "bodies joined">];
}

def OutlineControlPass : Pass<"mtp-outline-control", "mlir::ModuleOp"> {
  let summary = "Make kernels of the bodies of mtp.per_slot";
  let description = [{
    Every `mtp.per_slot` of a program becomes an `exec.control` of a kernel that
    carries the body, on buffers; equal bodies share a kernel, however many
    slots there are. In a body every index, divisor, shift and bound of a loop
    that may be out of range is replaced by one in range, so that a kernel stays
    within its buffers whatever they hold, and ends. Its tensors become small
    buffers. Rows in groups that were unpacked are read where they are packed.
    Every `mtp.state` becomes an `exec.state`.
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "distinct bodies">,
    Statistic<"numCalls", "calls", "calls in all programs">
  ];
}

#endif // MTP_CONTROL_PASSES
