//===- ExecPasses.td - Calls, buffers and memory -----------*- tablegen -*-===//
//
// The passes behind mtp-convert-to-exec: formats and layouts of weights, which
// calls are one, stages, buffers and the memory plan.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_EXEC_PASSES
#define MTP_EXEC_PASSES

include "mlir/Pass/PassBase.td"

def ShrinkDraftHeadPass : Pass<"exec-shrink-draft-head", "mlir::ModuleOp"> {
  let summary = "Draft from a part of the vocabulary";
  let description = [{
    The head (`role head`) behind every draft gets the rows of the given tokens
    alone, as a weight of its own; the draft is looked up among them, and
    sampled with the noise of the tokens that they are. Verification uses the
    whole head, so that the output stays the same. So do siblings of a tree, of
    which each is picked from what `exec.exclude` leaves. Heads that are no
    plain product, or whose logits have another reader or are changed before the
    pick, stay as they are, with a warning; a module without any other is an
    error.
  }];
  let options = [
    ListOption<"tokens", "tokens", "int32_t",
               "the tokens that may be drafted, ascending">
  ];
  let statistics = [Statistic<"numHeads", "heads", "heads made smaller">];
}

def MaskTokensPass : Pass<"exec-mask-tokens", "mlir::ModuleOp"> {
  let summary = "Keep ids without a token from being picked";
  let description = [{
    In rounds and prefills the logits of the given ids are -infinity, whatever
    reads them: heads (`role head`) get a bias that is -infinity there, and -0.0
    elsewhere, which changes no bit. A head over a part of the vocabulary is
    masked by the tokens that its columns stand for. The logits of a head with a
    bias of its own are masked by `exec.add_bias`. Functions, which pick
    nothing, stay as they are.
  }];
  let options = [
    ListOption<"tokens", "tokens", "int32_t", "the ids without a token">
  ];
  let statistics = [Statistic<"numHeads", "heads", "heads that were masked">];
}

def QuantizeWeightsPass : Pass<"exec-quantize-weights", "mlir::ModuleOp"> {
  let summary = "Store weights as integers";
  let description = [{
    Weights that only `exec.linear`, `exec.moe_gate_up` and `exec.moe_down` read
    become integers with a scale per output and group of inputs, and the calls
    that read them say so. Routers (`role router`), `exec.head_linear`,
    norms and biases stay as they are, and so do weights of which a tensor's key
    matches a `keep` pattern; such a pattern must match something. Heads (`role
    head`) may have a format of their own. Tables that only `exec.embed` reads
    change for a format of their own alone; where embedding and head are one
    tensor, they are two weights. A module without a weight for a format is an
    error.
  }];
  let options = [
    Option<"format", "format", "std::string", "\"none\"",
           "of all projections but the head: int8, another of integers, "
           "or none">,
    Option<"group", "group", "int64_t", "64",
           "inputs that share a scale: a multiple of 32 up to 128">,
    Option<"headFormat", "head-format", "std::string", "\"\"",
           "of the head: the same; absent: as the others">,
    Option<"headGroup", "head-group", "int64_t", "64",
           "the same of the head, where head-format is given">,
    Option<"embeddingFormat", "embedding-format", "std::string", "\"none\"",
           "of embedding tables: the same">,
    Option<"embeddingGroup", "embedding-group", "int64_t", "64",
           "the same of embedding tables">,
    ListOption<"keep", "keep", "std::string",
               "globs of keys of tensors that stay">
  ];
  let statistics = [
    Statistic<"numQuantized", "quantized", "weights that became integers">,
    Statistic<"numKept", "kept", "weights that a pattern kept">
  ];
}

def OrderFragmentsPass : Pass<"exec-order-fragments", "mlir::ModuleOp"> {
  let summary = "Pack weights in the order of tensor cores";
  let description = [{
    Panels of 32 outputs in `bf16`, or of integers in groups of 32, 64 or 128,
    get their inputs in the order of fragments, where k is a multiple of 32 and
    only products read the weight, whose rows begin at multiples of 16 bytes. It
    comes when the elements of weights are settled.
  }];
  let statistics = [
    Statistic<"numOrdered", "ordered", "weights that got the order">
  ];
}

def CallLibraryPass : Pass<"exec-call-library", "mlir::ModuleOp"> {
  let summary = "Prefill whole chunks with products of the vendor's library";
  let description = [{
    Every prefill of one sequence gets a second program, `<name>_library`, for
    chunks of as many rows as the envelope's chunk has whole pages, in which
    `exec.linear` of all rows by fragments of `bf16` is an `exec.gemm`: rows are
    rounded and weights unpacked before it, bias, residual and gate follow it.
    There is none where a chunk has fewer than `rows` rows of whole pages, or
    no product that a library could do. It comes behind `exec-order-fragments`.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "128",
           "rows that pay for unpacking a weight; 0: no chunk does">,
    Option<"workspace", "workspace", "int64_t", "32 << 20",
           "bytes that the library may use, 16 at least">
  ];
  let statistics = [
    Statistic<"numPrograms", "programs", "programs written">,
    Statistic<"numGemms", "gemms", "products of the library in them">
  ];
}

def PrepareRowsPass : Pass<"exec-prepare-rows", "mlir::ModuleOp"> {
  let summary = "Prepare rows once for all blocks of a product";
  let description = [{
    An `exec.linear` or `exec.linear_argmax` on fragments of `bf16`, or of
    `int8` in groups of 64 or 128, that has more rows than an option says takes
    them from an `exec.prepare_rows`, which norms and rounds or quantises them:
    with a few rows every block of the product does so for itself, and one call
    less is better. Products of the same rows with the same norm share it.
    Results are the same to the bit.

    A program of rounds is split in two where the first of its products comes to
    so many rows; behind that all are prepared that have as many at the largest
    n. Prefills are not split. It comes behind `exec-order-fragments` and
    `exec-call-library`.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"rows", "rows", "int64_t", "4",
           "rows up to which blocks round them to bf16 for themselves">,
    Option<"integerRows", "integer-rows", "int64_t", "1",
           "rows up to which blocks quantise them for themselves">
  ];
  let statistics = [
    Statistic<"numPrepared", "prepared", "rows prepared once">,
    Statistic<"numProducts", "products", "products that take them">
  ];
}

def FuseArgmaxPass : Pass<"exec-fuse-argmax", "mlir::ModuleOp"> {
  let summary = "Pick tokens where their logits are made";
  let description = [{
    An `exec.linear` whose result only an `exec.argmax` reads becomes an
    `exec.linear_argmax`, which writes the best logit of each panel and its
    column, and the `exec.argmax` an `exec.argmax_parts`. One whose result is
    read by an `exec.sample`, and may leave the program, becomes an
    `exec.linear_argmax` that writes logits too, for the slots whose row of the
    state `sampling` does not say that nobody reads them; the `exec.sample`
    picks from the best. Where a row has more than 16,384 logits, there are two:
    one scans, with a task for each 16,384 of them, and one picks from what that
    found, so that threads share the row.

    A projection with a residual or an activation, or whose result has another
    reader, stays as it is. Where it is a head whose logits something changes
    before a pick reads them, a remark says what; siblings, which `exec.exclude`
    is for, are meant to be picked from all logits.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numGreedy", "greedy", "heads without logits">,
    Statistic<"numSampled", "sampled", "heads with logits for some slots">,
    Statistic<"numWhole", "whole", "picks that read all logits">
  ];
}

def FuseRopePass : Pass<"exec-fuse-rope", "mlir::ModuleOp"> {
  let summary = "Rotate heads where they are written anyway";
  let description = [{
    The rotation of keys and the appends of an entry of which they are a part,
    the other part being values or, put beside them by a `concat`, a latent,
    become one `exec.rope_append`. Where the attention that follows reads
    queries that are turned by the same angles, their rotation is a part of it,
    too. An `exec.head_linear` that keeps rotated columns rotates them itself.
    Results are the same to the bit. Rotated heads that anything else reads stay
    as they are, and so do appends between which the layer is read.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numAppends", "appends",
              "entries written and rotated by one call">,
    Statistic<"numProducts", "products", "products that rotate what they keep">
  ];
}

def SplitAttentionPass : Pass<"exec-split-attention", "mlir::ModuleOp"> {
  let summary = "Let several workers share a row's positions";
  let description = [{
    An `exec.attention` whose positions come in parts and that has fewer tasks
    than there are workers becomes an `exec.attention_parts`, whose tasks deal
    out the parts of a row among them, and an `exec.attention_join`. Results are
    the same to the bit. One call with enough tasks, or whose rows never see
    more than one part, stays as it is.

    Which calls are split depends on n, as tasks do, and a program is split
    where that changes. So that this is rare, a call with three quarters of the
    rows of another stays as it is where that has enough tasks.

    Where tasks are a GPU's blocks (`blocks`), the workers are the blocks that
    it should have at once. A block has up to 16 queries, of a slot's rows times
    heads that share a key head, and every part is a block's. All calls get a
    GPU's parts then, which are smaller, or none. A round in which calls are
    split gets a copy in which none is, for rows at positions below a part and
    what a join takes (`below`): its bits are the same, and it has fewer calls.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"workers", "workers", "int64_t", "1",
           "threads or blocks that a program should keep busy">,
    Option<"blocks", "blocks", "bool", "false",
           "whether tasks are a GPU's blocks">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "calls whose positions are dealt out">
  ];
}

def CompileSamplingPass : Pass<"exec-compile-sampling", "mlir::ModuleOp"> {
  let summary = "Let the target sample in place of the runtime";
  let description = [{
    Every `exec.sample` becomes one of the target's own (`compiled`), whose
    kernel is specialised on the vocabulary and the parts that a builtin of the
    runtime gets as params. For targets whose kernels all lie in the plan's
    images.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"numCompiled", "compiled", "samples">
  ];
}

def FormStagesPass : Pass<"exec-form-stages", "mlir::ModuleOp"> {
  let summary = "Order the calls of a program so that barriers are few";
  let description = [{
    A stage is a run of calls in which no thread waits for another. Calls that
    do not depend on each other are moved into one stage, and so are those where
    a thread needs only what it wrote itself: calls that treat rows one by one
    and have as many rows. Calls with little to do are solo, one thread's; a
    chain of them is one stage. One that is read by divided calls alone, row by
    row, is divided as they are.

    How much there is to do depends on n. `exec.schedule` says the stages for
    the n from which they change; calls have one order for all n of a program,
    which is split where no order would do with as few barriers as each n has by
    itself.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let options = [
    Option<"soloElements", "solo-elements", "int64_t", "16384",
           "elements of a call's activations up to which one thread does it">
  ];
  let statistics = [
    Statistic<"numCalls", "calls", "calls in all programs">,
    Statistic<"numStages", "stages", "stages in all programs and schedules">,
    Statistic<"numSplit", "split", "programs split for another order">
  ];
}

def DeferOutputsPass : Pass<"exec-defer-outputs", "mlir::ModuleOp"> {
  let summary = "Put what only requests ask for behind all else";
  let description = [{
    Calls that nothing needs but outputs `for` slots or tokens move to the end
    of their program, behind `exec.on_request`, so that they run where a request
    has asked. A call that reads a state or a cache which is written behind it
    stays, and so does one that writes any.
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [Statistic<"numDeferred", "deferred", "calls moved">];
}

def BufferizePass : Pass<"exec-bufferize", "mlir::ModuleOp"> {
  let summary = "Give every tensor of a program a buffer";
  let description = [{
    Results of calls become `exec.alloc`, the call itself an `exec.dispatch` of
    an `exec.kernel`; equal kinds and configurations share one kernel. Views
    become offsets and strides.
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
    Buffers of a program share addresses where their lifetimes are disjoint; all
    programs share one arena, since only one runs at a time. Offsets are
    multiples of the alignment: of buffers that grow with n so many bytes per n,
    behind those that do not grow. So what is apart at one n is at every other.
    A barrier ends a lifetime only where all schedules of the program have it.
    The module's `exec.plan` attribute holds the bytes of both regions, the
    arena's at the largest n.
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
    Every batch 1..max_batch and k 0..max_k has one decode program, every number
    of rows 1..prefill_chunk one prefill program for k = 0 and, where a drafter
    reads the prompt ahead, one for k = max_k. An error names the first point
    that has none. Kernels are checked as well: every one is dispatched
    somewhere, and no call is left in value form.
  }];
  let statistics = [Statistic<"numPrograms", "programs", "programs checked">];
}

#endif // MTP_EXEC_PASSES
