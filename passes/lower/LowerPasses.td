//===- LowerPasses.td - From mtp to exec -------------------*- tablegen -*-===//
//
// Passes that write programs for every point of the envelope and lower them to
// kernel calls.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_LOWER_PASSES
#define MTP_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def SpecializeShapesPass : Pass<"mtp-specialize-shapes", "mlir::ModuleOp"> {
  let summary = "Write programs whose rows are counts of n";
  let description = [{
    Input: rounds, prefills and exported functions whose readable ops are
    expanded. Every `mtp.round`, one for each k, becomes a program for n slots,
    n from 1 to max_batch. Every `mtp.prefill` becomes a program for n rows,
    from 1 to the chunk. Rows become counts (`#exec.count`); the ops stay
    unchanged.

    `mtp.state` becomes memory for all slots, and `mtp.output` an output after
    all other ops. States that host and programs share are declared if the
    module does not declare them. Exported functions become programs as well.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"single", "single", "bool", "false",
           "a program for each n, with numbers instead of counts, for tests "
           "that compare the others with it">
  ];
  let statistics = [
    Statistic<"numPrograms", "programs", "programs written">
  ];
}

def SinkUnpackPass : Pass<"mtp-sink-unpack", "mlir::ModuleOp"> {
  let summary = "Unpack rows after work over a vocabulary, not before it";
  let description = [{
    A rule in code sees all rows of a slot's window. Computations on logits row
    by row (sums, distributions, the best columns) move to the packed rows, so
    that their cost depends on the number of active rows. Their results are
    unpacked if they are small. Larger results are read from the packed rows: by
    `mtp.gather` and `mtp.sample_residual`, which get the places, and by bodies.
    A row has the same bits wherever it is packed.
  }];
  let statistics = [
    Statistic<"numSunk", "moved", "ops that work on packed rows">
  ];
}

def SinkRowSelectionPass : Pass<"mtp-sink-row-selection", "mlir::ModuleOp"> {
  let summary = "Select rows before row-wise ops, not after them";
  let description = [{
    A drafter's head is applied to one row per slot, and a prefill's head to one
    row per sequence. The programs express this by selecting rows of the logits.
    This pass moves the selection up through projections, norms and sums, so
    that the vocabulary projection runs on the selected rows alone. Row
    invariance makes that exact.
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
    Every op of a program becomes one or more kernel calls. Weights become
    packed weights in the layout of the kernel that streams them, rotary
    attributes become tables, and slices become views. A cache's entries are
    divided among key heads if all uses of the cache allow it.

    A projection without a `role` becomes a router if experts are chosen by its
    result, and a head if tokens are picked by it, even after further ops on its
    logits. An op without a kernel is an error that names it.
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
