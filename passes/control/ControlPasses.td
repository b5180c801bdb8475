//===- ControlPasses.td - Control code of slots ------------*- tablegen -*-===//
//
// Passes that join bodies of mtp.per_slot and turn them into kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CONTROL_PASSES
#define MTP_CONTROL_PASSES

include "mlir/Pass/PassBase.td"

def FusePerSlotPass : Pass<"mtp-fuse-per-slot", "mlir::ModuleOp"> {
  let summary = "Join the bodies of neighbouring mtp.per_slot ops";
  let description = [{
    Joins neighbouring `mtp.per_slot` bodies, which the expansions write one by
    one, so that they become one kernel. Bodies are simplified by the
    canonicalizations of their dialects.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [Statistic<"numFused", "fused", "bodies joined">];
}

def OutlineControlPass : Pass<"mtp-outline-control", "mlir::ModuleOp"> {
  let summary = "Turn the bodies of mtp.per_slot into kernels";
  let description = [{
    Input: programs with `mtp.per_slot`. Output: an `exec.control` call for
    each, of a kernel that carries the body, on buffers. Equal bodies share a
    kernel, whatever the number of slots.

    Every index, divisor, shift and loop bound in a body that may be out of
    range is replaced by one in range. So a kernel stays within its buffers,
    whatever they hold, and terminates. Tensors of a body become small buffers.
    Unpacked rows in groups are read from the packed rows. Every `mtp.state`
    becomes an `exec.state`.
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "distinct bodies">,
    Statistic<"numCalls", "calls", "calls in all programs">
  ];
}

#endif // MTP_CONTROL_PASSES
