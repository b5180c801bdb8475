//===- LowerPasses.td - From mtp to exec -------------------*- tablegen -*-===//
//
// Programs for every point of the envelope, and calls of kernels in them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_LOWER_PASSES
#define MTP_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def SpecializeShapesPass : Pass<"mtp-specialize-shapes", "mlir::ModuleOp"> {
  let summary = "Write programs whose rows are counts of n";
  let description = [{
    Every `mtp.round`, one for each k, becomes a program for n slots, n from 1
    to max_batch, and every `mtp.prefill` one for n rows, from 1 to the chunk.
    Rows become counts (`#exec.count`), and nothing else changes. What is to be
    expanded is, by the passes before this one. `mtp.state` becomes memory for
    all slots, `mtp.output` an output behind all other ops. States that host and
    programs share are declared where the module does not declare them. Exported
    functions become programs as well.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"single", "single", "bool", "false",
           "a program for each n, with numbers in the place of counts: what "
           "tests compare the others with">
  ];
  let statistics = [
    Statistic<"numPrograms", "programs", "programs written">
  ];
}

def SinkUnpackPass : Pass<"mtp-sink-unpack", "mlir::ModuleOp"> {
  let summary = "Unpack rows behind work over a vocabulary, not before it";
  let description = [{
    A rule in code sees all rows of a slot's window. What it computes of logits
    row by row - sums, distributions, the best columns - is computed of packed
    rows, so that it costs as much as rows live, and its results are unpacked,
    which are small or are read where they are packed: by `mtp.gather` and
    `mtp.pick_residual`, which are told the places, and by bodies. A row has the
    same bits wherever it is packed.
  }];
  let statistics = [
    Statistic<"numSunk", "moved", "ops that work on packed rows">
  ];
}

def SinkRowSelectionPass : Pass<"mtp-sink-row-selection", "mlir::ModuleOp"> {
  let summary = "Select rows before row-wise ops, not after them";
  let description = [{
    A drafter's head is applied to one row per slot and a prefill's to one row
    in all. The programs say so by selecting rows of the logits; this pass moves
    the selection up through projections, norms and sums, so that the vocabulary
    projection runs on the selected rows alone. Row invariance makes that exact.
  }];
  let statistics = [
    Statistic<"numSunk", "selections-moved", "selections moved">
  ];
}

def PlaceCacheWritesPass : Pass<"mtp-place-cache-writes", "mlir::ModuleOp"> {
  let summary = "Make the cache writes of attention explicit";
  let description = [{
    Turns an attention over its own rows and all rows before them into appends
    to its cache and an attention over the cache.
  }];
  let statistics = [Statistic<"numAppends", "appends", "cache appends placed">];
}

def ConvertMTPToExecPass : Pass<"mtp-convert-to-exec", "mlir::ModuleOp"> {
  let summary = "Choose a kernel for every op of the programs";
  let description = [{
    Every op of a program becomes one or more kernel calls; weights become
    packed weights in the layout of the kernel that streams them, rotary
    attributes become tables, slices views. A cache's entries are divided among
    key heads where everything that uses the cache allows it. Projections that
    say no `role` get that of a head or a router where tokens are picked or
    experts chosen by what they give, whatever else is done to it before. An op
    without a kernel is an error that names it.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"panelWidth", "panel-width", "int64_t",
           "::mlir::exec::formatPanelWidth()",
           "outputs in a panel that the target's products stream">
  ];
  let statistics = [
    Statistic<"numInvokes", "invokes", "kernel calls written">,
    Statistic<"numWeights", "weights", "packed weights declared">
  ];
}

#endif // MTP_LOWER_PASSES
