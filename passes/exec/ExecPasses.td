//===- ExecPasses.td - Calls, buffers and memory -----------*- tablegen -*-===//
//
// The passes after mtp-convert-to-exec: formats and layouts of weights, fused
// calls, stages, buffers and the memory plan.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_EXEC_PASSES
#define MTP_EXEC_PASSES

include "mlir/Pass/PassBase.td"

def ShrinkDraftHeadPass : Pass<"exec-shrink-draft-head", "mlir::ModuleOp"> {
  let summary = "Draft from a part of the vocabulary";
  let description = [{
    The head (`role head`) of every draft becomes a new weight with the rows of
    the given tokens only. The draft's column is looked up among these tokens,
    and sampling uses the noise of the tokens. Verification uses the whole head,
    so the output is unchanged. Siblings of a tree are handled in the same way:
    each is picked from the logits that `exec.mask_tokens` leaves.

    A head stays whole, with a warning, if it is no plain product, or if its
    logits have another reader or are changed before the pick. A head whose
    columns are looked up in a vocabulary of its own stays without a warning. If
    no head can be shrunk, the pass reports an error.
  }];
  let options = [
    ListOption<"tokens", "tokens", "int32_t",
               "the tokens that may be drafted, ascending">
  ];
  let statistics = [Statistic<"numHeads", "heads", "heads made smaller">];
}

def MaskTokensPass : Pass<"exec-mask-tokens", "mlir::ModuleOp"> {
  let summary = "Mask the logits of ids without a token";
  let description = [{
    In rounds and prefills the logits of the given ids become -infinity for all
    readers. Heads (`role head`) get a bias that is -infinity for these ids and
    -0.0 for all others, which changes no bit. A head over a part of the
    vocabulary is masked by the tokens of its columns. If a head has a bias
    already, `exec.add_bias` masks its logits. Functions stay unchanged, since
    they pick no tokens.
  }];
  let options = [
    ListOption<"tokens", "tokens", "int32_t", "the ids without a token">
  ];
  let statistics = [Statistic<"numHeads", "heads", "heads that were masked">];
}

def QuantizeWeightsPass : Pass<"exec-quantize-weights", "mlir::ModuleOp"> {
  let summary = "Quantize weights to integers";
  let description = [{
    Input: calls whose kernels are chosen. Weights that only `exec.linear`,
    `exec.moe_gate_up` and `exec.moe_down` read become integers with a scale per
    output and group of inputs. The calls that read them get the format.

    Routers (`role router`), `exec.head_linear`, norms and biases stay
    unchanged. So do weights if the key of one of their tensors matches a `keep`
    pattern; each pattern must match a weight. Heads (`role head`) may have a
    separate format. Tables that only `exec.embed` reads change only if a
    separate format is given. If no weight can take a requested format, the pass
    reports an error.

    A pass that was created with a function that chooses formats gives each
    projection the chosen format. Weights with a format that is searched for
    then have the norm of their inputs in `exec.input_norm` and
    `exec.norm_offset`, and heads have `exec.head`.

    A pass that was created with a function for kept formats gives the weights
    that no option changes the format that keeps their tensors. Tables in such a
    format are in panels. With `tie`, a table that has the tensor of a head in
    integers is replaced by the head, whose panels `exec.embed` reads. Without
    `tie-fragments`, heads stay apart if they can be in the order of tensor
    cores, which `exec.embed` does not read.
  }];
  let options = [
    Option<"format", "format", "std::string", "\"none\"",
           "format of all projections except the head: int8, another format "
           "of integers, or none">,
    Option<"group", "group", "int64_t", "64",
           "inputs that share an f32 scale: a multiple of 32 up to 128; 0 for "
           "int8: 32 inputs that share an f16 scale">,
    Option<"headFormat", "head-format", "std::string", "\"\"",
           "format of the head; absent: format">,
    Option<"headGroup", "head-group", "int64_t", "64",
           "group of the head, if head-format is given">,
    Option<"embeddingFormat", "embedding-format", "std::string", "\"none\"",
           "format of embedding tables">,
    Option<"embeddingGroup", "embedding-group", "int64_t", "64",
           "group of embedding tables">,
    ListOption<"keep", "keep", "std::string",
               "globs over keys of tensors that stay unchanged">,
    Option<"tie", "tie", "bool", "false",
           "whether an embedding may be read from the head's panels">,
    Option<"tieFragments", "tie-fragments", "bool", "true",
           "whether that holds for heads that tensor cores can multiply">
  ];
  let statistics = [
    Statistic<"numQuantized", "quantized", "weights that became integers">,
    Statistic<"numKept", "kept", "weights that a pattern kept">,
    Statistic<"numTied", "tied", "tables that became a head's panels">
  ];
}

def OrderFragmentsPass : Pass<"exec-order-fragments", "mlir::ModuleOp"> {
  let summary = "Pack weights in the order of tensor cores";
  let description = [{
    Panels of 32 outputs in `bf16`, or in `int8` or `int4` with f32 scales and
    without offsets in groups of 32, 64 or 128, get their inputs in the order of
    tensor core fragments. Conditions: k is a multiple of 32, only products read
    the weight, and their rows begin at multiples of 16 bytes. Runs after the
    element formats of weights are final.
  }];
  let statistics = [
    Statistic<"numOrdered", "ordered", "weights that got the order">
  ];
}

def CallLibraryPass : Pass<"exec-call-library", "mlir::ModuleOp"> {
  let summary = "Add prefills that use products of the vendor's library";
  let description = [{
    Every prefill of one sequence gets a second program, `<name>_library`, for
    chunks with the number of rows in the whole pages of the envelope's chunk.
    In it, an `exec.linear` of all rows on `bf16` fragments becomes an
    `exec.gemm`. Rows are rounded and weights unpacked before it; bias, residual
    and gate follow it.

    No program is added if a chunk has fewer than `rows` rows in whole pages, or
    if it has no product for the library. Runs after `exec-order-fragments`.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "::mtp::tunable::kLibraryRows.value",
           "least rows of a chunk that calls the library; 0: no chunk does">,
    Option<"workspace", "workspace", "int64_t", "32 << 20",
           "bytes that the library may use, at least 16">
  ];
  let statistics = [
    Statistic<"numPrograms", "programs", "programs written">,
    Statistic<"numGemms", "gemms", "products of the library in programs">
  ];
}

def PrepareRowsPass : Pass<"exec-prepare-rows", "mlir::ModuleOp"> {
  let summary = "Prepare rows once for all blocks of a product";
  let description = [{
    An `exec.linear` or `exec.linear_argmax` on fragments of `bf16`, or of
    `int8` in groups of 64 or 128, takes its rows from an `exec.prepare_rows` if
    it has more rows than an option says. `exec.prepare_rows` norms the rows and
    rounds or quantizes them. With few rows every block of the product does that
    itself, which saves one call. Products of equal rows with an equal norm
    share the prepared rows. Results do not change by a bit.

    A program of rounds is split in two at the n at which its first product
    reaches that number of rows. In the second program all products are prepared
    that reach it at the largest n. Prefills are not split. Runs after
    `exec-order-fragments` and `exec-call-library`.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"rows", "rows", "int64_t", "::mtp::tunable::kPrepareRows.value",
           "rows up to which each block rounds them to bf16">,
    Option<"integerRows", "integer-rows", "int64_t",
           "::mtp::tunable::kPrepareIntegerRows.value",
           "rows up to which each block quantises them">
  ];
  let statistics = [
    Statistic<"numPrepared", "prepared", "rows that are prepared once">,
    Statistic<"numProducts", "products", "products that take prepared rows">
  ];
}

def FuseArgmaxPass : Pass<"exec-fuse-argmax", "mlir::ModuleOp"> {
  let summary = "Fuse picks of tokens into their heads";
  let description = [{
    An `exec.linear` whose result only an `exec.argmax` reads becomes an
    `exec.linear_argmax`, which writes the best logit of each panel and its
    column. The `exec.argmax` becomes an `exec.argmax_parts`.

    If an `exec.sample` reads the result, which may also leave the program, the
    `exec.linear_argmax` writes logits too. It skips slots whose row of the
    state `sampling` says that their logits have no reader. The `exec.sample`
    picks from the best. If a row has more than 16,384 logits, there are two
    samples, so that threads share the row: the first scans, with a task per
    16,384 logits, and the second picks from its results.

    A projection with a residual or an activation, or whose result has another
    reader, stays unchanged. If it is a head whose logits are changed before a
    pick, a remark names the change. Siblings picked through `exec.mask_tokens`
    get no remark: they need all logits.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numGreedy", "greedy", "heads without logits">,
    Statistic<"numSampled", "sampled", "heads with logits for some slots">,
    Statistic<"numWhole", "whole", "picks that read all logits">
  ];
}

def FuseRopePass : Pass<"exec-fuse-rope", "mlir::ModuleOp"> {
  let summary = "Fuse rotations into cache appends and products";
  let description = [{
    The rotation of keys and the appends of the entry with these keys become one
    `exec.rope_append`. The rest of the entry is either values, or a latent
    joined to the keys by a `concat`. If the following attention reads queries
    rotated by the same angles, the call rotates them, too. An
    `exec.head_linear` that keeps rotated columns rotates them itself. Results
    do not change by a bit. Rotated heads with another reader stay unchanged,
    and so do appends between which the layer is read.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numAppends", "appends",
              "calls that rotate and write entries">,
    Statistic<"numProducts", "products", "products that rotate their result">
  ];
}

def SplitAttentionPass : Pass<"exec-split-attention", "mlir::ModuleOp"> {
  let summary = "Split the positions of attention among workers";
  let description = [{
    An `exec.attention` whose positions are divided into splits, and that has
    fewer tasks than there are workers, becomes an `exec.attention_split_kv` and
    an `exec.attention_combine`. The tasks of the first divide the splits of a
    row among them. Results do not change by a bit. A call with enough tasks, or
    whose rows never see more than one split, stays unchanged.

    Which calls are split depends on n, as the number of tasks does. A program
    is split at the n at which that changes. To make this rare, a call with at
    least three quarters of the rows of another stays whole if the other has
    enough tasks.

    On a GPU (`blocks`) tasks are thread blocks, and `workers` is the number of
    blocks that it should run at once. A block has up to 16 queries, from the
    rows of a slot and the heads that share a key head, and every split is one
    block's. All calls get a GPU's splits then, which are smaller, or none. A
    round with split calls gets a copy without them, for rows at positions below
    one split plus `short-positions`. Its bits are equal, and it has fewer
    calls.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"workers", "workers", "int64_t", "1",
           "threads or blocks that a program should keep busy">,
    Option<"blocks", "blocks", "bool", "false",
           "whether tasks are a GPU's blocks">,
    Option<"shortPositions", "short-positions", "int64_t",
           "::mtp::tunable::kShortPositions.value",
           "on a GPU, positions beyond one split up to which a round is not "
           "split">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "calls whose positions are split">
  ];
}

def CompileSamplingPass : Pass<"exec-compile-sampling", "mlir::ModuleOp"> {
  let summary = "Replace the runtime's sampling by kernels of the target";
  let description = [{
    Every `exec.sample` becomes a kernel of the target (`compiled`), specialized
    on the vocabulary and on the parts that a builtin of the runtime gets as
    parameters. For targets whose kernels are all in the plan's images.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numCompiled", "compiled", "samples">
  ];
}

def FormStagesPass : Pass<"exec-form-stages", "mlir::ModuleOp"> {
  let summary = "Order the calls of a program to need few barriers";
  let description = [{
    Input: calls in value form. Output: ordered calls and their schedules. A
    stage is a sequence of calls in which no thread waits for another. Calls
    that do not depend on each other share a stage. So do dependent calls if
    each thread only reads values that it wrote itself: calls that treat rows
    one by one and have equal numbers of rows. Calls with little work are solo,
    run by one thread; a chain of them is one stage. A small call that only
    divided calls read, row by row, is divided as well.

    The amount of work depends on n. `exec.schedule` lists the stages for each n
    at which they change. A program has one order of calls for all n. It is
    split if no order needs as few barriers at every n as the best order for
    that n.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"soloElements", "solo-elements", "int64_t",
           "::mtp::tunable::kSoloElements.value",
           "elements of a call's activations up to which one thread runs it">
  ];
  let statistics = [
    Statistic<"numCalls", "calls", "calls in all programs">,
    Statistic<"numStages", "stages", "stages in all programs and schedules">,
    Statistic<"numSplit", "split", "programs split for another order">
  ];
}

def DeferOutputsPass : Pass<"exec-defer-outputs", "mlir::ModuleOp"> {
  let summary = "Move calls that only requests need to the program's end";
  let description = [{
    Calls that only outputs `for` slots or tokens need move to the end of their
    program, after `exec.on_request`, so that they run only if a request has
    asked for them. A call stays if it reads a state or a cache that a later
    call writes, or if it writes one itself.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [Statistic<"numDeferred", "deferred", "calls moved">];
}

def BufferizePass : Pass<"exec-bufferize", "mlir::ModuleOp"> {
  let summary = "Give every tensor of a program a buffer";
  let description = [{
    Results of calls become `exec.alloc`, and each call becomes an
    `exec.dispatch` of an `exec.kernel`. Equal kinds and configurations share
    one kernel. Views become offsets and strides.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "distinct kernels">,
    Statistic<"numDispatches", "dispatches", "dispatches in all programs">
  ];
}

def PlanMemoryPass : Pass<"exec-plan-memory", "mlir::ModuleOp"> {
  let summary = "Place all buffers in one arena and one state region";
  let description = [{
    Buffers of a program share addresses if their lifetimes are disjoint. All
    programs share one arena, since only one runs at a time. Offsets are
    multiples of the alignment. Buffers that grow with n have an offset per n
    and come after the buffers of fixed size. So two buffers that do not overlap
    at one n do not overlap at any. A barrier ends a lifetime only if all
    schedules of the program have it. The module's `exec.plan` attribute holds
    the bytes of the states and of the arena at the largest n.
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "64",
           "alignment of every buffer in bytes">
  ];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"stateBytes", "state-bytes", "bytes of the state region">
  ];
}

def CheckCoveragePass : Pass<"exec-check-coverage", "mlir::ModuleOp"> {
  let summary = "Check that every point of the envelope has its programs";
  let description = [{
    Checks that every batch 1..max_batch and k 0..max_k has one decode program.
    Every number of rows 1..prefill_chunk must have one prefill program for k =
    0 and, if a drafter reads the prompt ahead, one for k = max_k. An error
    names the first point without a program. Kernels are checked as well: every
    kernel is dispatched, and no call is left in value form.
  }];
  let statistics = [Statistic<"numPrograms", "programs", "programs checked">];
}

#endif // MTP_EXEC_PASSES
